/* Phases of CUDA's applications: NVTX ranges and marks become the raw records begin and end.
 *
 * Each library of an application that has NVTX in it asks for the functions once: it loads what
 * NVTX_INJECTION64_PATH names, which `gamut record` sets to this library, and calls
 * InitializeInjectionNvtx2 with its table, where the functions go. A range that was pushed ends in
 * its thread and its domain with the one that was pushed last; one that was started ends by its
 * number, in any thread. A mark is a phase that ends at once. The name of a domain stands in front
 * of those of its phases.
 *
 * Colours, payloads, categories, and names of threads and streams are left out.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside/record_cuda.h"
#include "inside/recorder.h"

enum { NAME_MOST = 4096 };

/* The name of a domain or a registered string; its handle is its address. Never freed: a phase may
 * be named by it at any time. */
struct kept {
    struct kept *next;
    char text[];
};
static _Atomic(struct kept *) all_kept;

static struct kept *keep(const char *text)
{
    const size_t length = text ? strnlen(text, NAME_MOST) : 0;
    struct kept *kept = calloc(1, sizeof *kept + length + 1);
    if (!kept)
        return NULL;
    if (length)
        memcpy(kept->text, text, length);
    kept->next = atomic_load(&all_kept);
    while (!atomic_compare_exchange_weak(&all_kept, &kept->next, kept))
        ;
    return kept;
}

/* The text of a domain or a registered string; "" for none. */
static const char *text_of(const void *handle)
{
    const struct kept *kept = handle;
    return kept ? kept->text : "";
}

static _Atomic uint64_t ranges;

/* Texts of the system's wide characters, as UTF-8. */
static void narrow(char *out, size_t size, const wchar_t *text)
{
    size_t used = 0;
    for (; text && *text && used + 5 < size; text++) {
        const uint32_t c = (uint32_t)*text;
        if (c < 0x80) {
            out[used++] = (char)c;
            continue;
        }
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
        out[used++] = (char)(first[more] | (c >> 6 * more & 0x3f));
        for (int i = more - 1; i >= 0; i--)
            out[used++] = (char)(0x80 | (c >> 6 * i & 0x3f));
    }
    out[used] = 0;
}

static uint64_t key_of(nvtxDomainHandle_t domain)
{
    return (uint64_t)(uintptr_t)domain;
}

static uint64_t new_range(void)
{
    return RAW_PHASE_RANGE | (atomic_fetch_add(&ranges, 1) + 1);
}

static void begin(uint64_t key, nvtxDomainHandle_t domain, const char *text)
{
    const uint64_t now = recorder_ticks();
    const char *prefix = text_of(domain);
    char name[NAME_MOST];
    if (*prefix)
        snprintf(name, sizeof name, "%s: %s", prefix, text ? text : "");
    recorder_text(RAW_begin, key, now, *prefix ? name : text ? text : "");
}

static void begin_wide(uint64_t key, const wchar_t *text)
{
    char name[NAME_MOST];
    narrow(name, sizeof name, text);
    begin(key, NULL, name);
}

static void begin_with(uint64_t key, nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    char name[NAME_MOST];
    const char *text = "";
    if (a && a->messageType == NVTX_MESSAGE_TYPE_ASCII)
        text = a->message.ascii;
    else if (a && a->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
        text = text_of(a->message.registered);
    else if (a && a->messageType == NVTX_MESSAGE_TYPE_UNICODE) {
        narrow(name, sizeof name, a->message.unicode);
        text = name;
    }
    begin(key, domain, text);
}

static void end(uint64_t key)
{
    const uint64_t now = recorder_ticks();
    recorder_put(RAW_end, key, 0, now, now, NULL, 0);
    record_cuda_phase_ended();
}

/* ---- the functions ---- */

static int pop(void)
{
    end(0);
    return NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_pop(nvtxDomainHandle_t domain)
{
    end(key_of(domain));
    return NVTX_NO_PUSH_POP_TRACKING;
}

static void stop(nvtxRangeId_t range)
{
    if (range & RAW_PHASE_RANGE)
        end(range);
}

static void domain_stop(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    stop(range);
}

/* The three kinds of phases with a name of one form; `begin_named` begins one under `key`. */
#define NAMED(form, domain, parameters, begin_named)                                               \
    static int push_##form parameters                                                              \
    {                                                                                              \
        const uint64_t key = key_of(domain);                                                       \
        begin_named;                                                                               \
        return NVTX_NO_PUSH_POP_TRACKING;                                                          \
    }                                                                                              \
    static nvtxRangeId_t start_##form parameters                                                   \
    {                                                                                              \
        const uint64_t key = new_range();                                                          \
        begin_named;                                                                               \
        return key;                                                                                \
    }                                                                                              \
    static void mark_##form parameters                                                             \
    {                                                                                              \
        const uint64_t key = new_range();                                                          \
        begin_named;                                                                               \
        end(key);                                                                                  \
    }
NAMED(text, NULL, (const char *text), begin(key, NULL, text))
NAMED(wide, NULL, (const wchar_t *text), begin_wide(key, text))
NAMED(with, NULL, (const nvtxEventAttributes_t *a), begin_with(key, NULL, a))
NAMED(in, domain, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a),
      begin_with(key, domain, a))

static nvtxDomainHandle_t make_domain(const char *name)
{
    return (nvtxDomainHandle_t)keep(name);
}

static nvtxDomainHandle_t make_domain_wide(const wchar_t *name)
{
    char text[NAME_MOST];
    narrow(text, sizeof text, name);
    return make_domain(text);
}

static nvtxStringHandle_t keep_text(nvtxDomainHandle_t domain, const char *text)
{
    return (nvtxStringHandle_t)keep(text);
}

static nvtxStringHandle_t keep_text_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
    char name[NAME_MOST];
    narrow(name, sizeof name, text);
    return keep_text(domain, name);
}

/* ---- beginning ---- */

#define FUNCTION(name) (NvtxFunctionPointer) name

static const struct entry {
    unsigned id;
    NvtxFunctionPointer function;
} core[] = {
    {NVTX_CBID_CORE_MarkEx, FUNCTION(mark_with)},
    {NVTX_CBID_CORE_MarkA, FUNCTION(mark_text)},
    {NVTX_CBID_CORE_MarkW, FUNCTION(mark_wide)},
    {NVTX_CBID_CORE_RangeStartEx, FUNCTION(start_with)},
    {NVTX_CBID_CORE_RangeStartA, FUNCTION(start_text)},
    {NVTX_CBID_CORE_RangeStartW, FUNCTION(start_wide)},
    {NVTX_CBID_CORE_RangeEnd, FUNCTION(stop)},
    {NVTX_CBID_CORE_RangePushEx, FUNCTION(push_with)},
    {NVTX_CBID_CORE_RangePushA, FUNCTION(push_text)},
    {NVTX_CBID_CORE_RangePushW, FUNCTION(push_wide)},
    {NVTX_CBID_CORE_RangePop, FUNCTION(pop)},
    {0, NULL},
};
static const struct entry core2[] = {
    {NVTX_CBID_CORE2_DomainMarkEx, FUNCTION(mark_in)},
    {NVTX_CBID_CORE2_DomainRangeStartEx, FUNCTION(start_in)},
    {NVTX_CBID_CORE2_DomainRangeEnd, FUNCTION(domain_stop)},
    {NVTX_CBID_CORE2_DomainRangePushEx, FUNCTION(push_in)},
    {NVTX_CBID_CORE2_DomainRangePop, FUNCTION(domain_pop)},
    {NVTX_CBID_CORE2_DomainRegisterStringA, FUNCTION(keep_text)},
    {NVTX_CBID_CORE2_DomainRegisterStringW, FUNCTION(keep_text_wide)},
    {NVTX_CBID_CORE2_DomainCreateA, FUNCTION(make_domain)},
    {NVTX_CBID_CORE2_DomainCreateW, FUNCTION(make_domain_wide)},
    {0, NULL},
};

/* An older NVTX has a shorter table. */
static bool fill(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
                 const struct entry *entries)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return false;
    for (; entries->function; entries++)
        if (entries->id < size && table[entries->id])
            *table[entries->id] = entries->function;
    return true;
}

/* Each NVTX of the application calls this before its first function; 1: all is well. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables)
{
    const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof *callbacks || !recorder_open("CUDA", "cupti"))
        return 0;
    fill(callbacks, NVTX_CB_MODULE_CORE2, core2);
    return fill(callbacks, NVTX_CB_MODULE_CORE, core);
}
