/* The call site of a block, from the frames of its stack:
 *
 * 1. A stack with frames of Python is named by these alone: those of C++ are the same for all.
 * 2. A stack of C++ alone loses the frames of the unwinder and of the allocator, which every
 *    request has. Their names are those of PyTorch's torch/csrc/profiler/unwind/,
 *    torch/csrc/profiler/combined_traceback.cpp, c10/cuda/CUDACachingAllocator.cpp and
 *    aten/src/ATen/EmptyTensor.cpp.
 * 3. A site has a few frames, the innermost first. The last place is for the innermost frame of
 *    the user's own code, which deep stacks of modules would hide.
 * 4. A workspace of a convolution has TRACE_SITE_WORKSPACE as its first frame, before frames of
 *    Python too. ATen asks for less where one is refused (aten/src/ATen/native/cudnn/Conv_v8.cpp:
 *    run_conv_plan and run_conv_plan_fused, whose callers try the next plan, and
 *    generate_and_filter_plans, which tries plans for torch.backends.cudnn.benchmark).
 *
 * Code is the user's own if its file is neither of an installed package, nor of Python's library,
 * nor of PyTorch. Paths say so; the site keeps base names only. */
#include <inttypes.h>
#include <string.h>

#include "trace/import/pytorch_sites.h"
#include "trace/trace.h"

enum { FRAMES_MOST = 8 };
static const char *const of_workspace[] = {"at::native::run_conv_plan",
                                           "at::native::generate_and_filter_plans", NULL};

static bool is_python(const char *file)
{
    const size_t length = strlen(file);
    return length > 3 && strcmp(file + length - 3, ".py") == 0;
}

static bool has_any(const char *text, const char *const *words)
{
    while (*words && !strstr(text, *words))
        words++;
    return *words;
}

static bool is_user(const char *file)
{
    static const char *const others[] = {
        "site-packages/", "dist-packages/",   "/lib/python",  "/torch/nn/",     "/torch/optim/",
        "/torch/utils/",  "/torch/autograd/", "/torch/cuda/", "/torch/_tensor", NULL};
    return !has_any(file, others);
}

/* Frames that each request has. The arguments of a function do not count: functions of the user
 * may take an allocator. */
static bool is_of_allocator(const char *name)
{
    static const char *const words[] = {"torch::unwind",     "CUDACachingAllocator",
                                        "gather_with_cpp",   "CapturedTraceback",
                                        "at::detail::empty", NULL};
    char function[200];
    snprintf(function, sizeof function, "%.*s", (int)strcspn(name, "("), name);
    return !*name || strcmp(name, "??") == 0 || has_any(function, words) ||
           (strncmp(function, "c10::", 5) == 0 && strstr(function, "Allocator"));
}

void pytorch_site_begin(struct pytorch_site *site)
{
    *site = (struct pytorch_site){.text = site->text};
    site->text.length = 0;
}

void pytorch_site_add(struct pytorch_site *site, const char *file, const char *name, uint64_t line)
{
    file = file ? file : "";
    name = name ? name : "?";
    const bool python = is_python(file), user = python && is_user(file);
    const bool is_workspace = !python && !site->is_workspace && has_any(name, of_workspace);
    if (!site->has_python && (python || is_workspace)) {
        const bool marks = site->is_workspace || is_workspace;
        pytorch_site_begin(site);
        text_add(&site->text, "%s", marks ? TRACE_SITE_WORKSPACE : "");
        site->frames = site->is_workspace = marks;
        site->has_python = python;
    }
    if (python != site->has_python || is_workspace || (!python && is_of_allocator(name)))
        return;
    const bool is_last = site->frames + 1 == FRAMES_MOST;
    if (site->frames == FRAMES_MOST || (is_last && python && !user && !site->has_user))
        return;
    const char *slash = strrchr(file, '/');
    text_add(&site->text, "%s", site->frames++ ? " < " : "");
    if (*file && strcmp(file, "??") != 0)
        text_add(&site->text, "%s:%" PRIu64 " ", slash ? slash + 1 : file, line);
    text_add(&site->text, "%.200s", name);
    site->has_user |= user;
}
