/* The call site of a block, from the frames of its stack:
 *
 * 1. The site begins with a category, if a frame says one: the innermost that does.
 * 2. Then comes the innermost line of the user's own code. A backward pass has none in its thread:
 *    the operator of autograd stands for it. What was called from there follows, the innermost
 *    frame last.
 * 3. A stack with frames of Python is named by these alone. Of a stack of C++ alone, the innermost
 *    frame is that behind the unwinder, the allocator and the dispatcher, which all requests have.
 *
 * A trace also keeps all frames of a stack. Those that no site names are hidden in pictures, as
 * PyTorch's own viewer hides them.
 *
 * Code is the user's own if its file is neither of an installed package, nor of Python's library,
 * nor of PyTorch. Paths say so; the site keeps base names only. */
#include <inttypes.h>
#include <string.h>

#include "trace/import/pytorch_sites.h"
#include "trace/trace.h"

#define MODULE "torch/nn/modules/module.py"

/* What a frame says, the first rule that fits. `file` is a part of the path; `function` is the name
 * of a function of Python, or a part of the name of one of C++. NULL: any. */
static const struct rule {
    const char *file, *function, *category;
    bool is_cut; /* from the site's text */
} rules[] = {
    {MODULE, "_apply", "parameters", true},
    {"torch/nn/parameter.py", "materialize", "parameters", false},
    {"torch/nn/modules/", "__init__", "parameters", false},
    {"torch/optim/", "_init_group", "optimizer's state", false},
    {"torch/optim/", "_process_value_according_to_param_policy", "optimizer's state", false},
    {"torch/optim/sgd.py", NULL, "optimizer's state?", false}, /* or a temporary of the step */
    {"torch/optim/optimizer.py", NULL, "optimizer's step", true},
    {"torch/optim/", NULL, "optimizer's step", false},
    {MODULE, "_call_impl", "activations", true},
    {MODULE, "_wrapped_call_impl", NULL, true},
    {MODULE, "inner", NULL, true},
    {"torch/nn/functional.py", NULL, "activations", false},
    {"torch/utils/_contextlib.py", NULL, NULL, true},
    {"torch/_jit_internal.py", NULL, NULL, true},
    {".py", "backward", "gradients", false},
    /* ATen asks for less where a workspace of a convolution is refused
     * (aten/src/ATen/native/cudnn/Conv_v8.cpp: run_conv_plan and run_conv_plan_fused, whose callers
     * try the next plan, and generate_and_filter_plans, for torch.backends.cudnn.benchmark). */
    {NULL, "at::native::run_conv_plan", TRACE_SITE_WORKSPACE, false},
    {NULL, "at::native::generate_and_filter_plans", TRACE_SITE_WORKSPACE, false},
    {NULL, "Workspace", "cuBLAS workspaces", false},
    {NULL, "torch::autograd::Engine", "gradients", false},
};

static bool is_user(const char *file)
{
    return !text_is_listed("*site-packages/*,*dist-packages/*,*/lib/python*,*/torch/nn/*,"
                           "*/torch/optim/*,*/torch/utils/*,*/torch/autograd/*,*/torch/cuda/*,"
                           "*/torch/_tensor*",
                           file);
}

/* The name of a function of C++ without its result, its arguments, those of templates, and spaces
 * without a name. */
static void shorten(const char *name, char function[200])
{
    static const char unnamed[] = "(anonymous namespace)::";
    size_t length = 0;
    int depth = 0;
    for (const char *c = name; *c && length < 199; c++) {
        if (strncmp(c, unnamed, sizeof unnamed - 1) == 0) {
            c += sizeof unnamed - 2;
            continue;
        }
        if (*c == '(' && depth == 0)
            break;
        depth += *c == '<' ? 1 : *c == '>' && depth ? -1 : 0;
        if (*c == ' ' && depth == 0)
            length = 0;
        else if (depth == 0 && *c != '>')
            function[length++] = *c;
    }
    function[length] = 0;
}

/* An operator of autograd, or a function that is not of a library. */
static bool is_own_native(const char *function)
{
    if (text_glob("torch::autograd::*", function))
        return !text_is_listed("*VariableType*,*::Node*,*::details::*,*::THP*", function);
    return !text_is_listed("at::*,c10::*,torch::*,std::*,THP*,Py*,_*", function);
}

/* What all requests have, functions without a name, and those of the interpreter and of threads. */
static bool is_plumbing(const char *function)
{
    return !*function || strcmp(function, "??") == 0 ||
           text_is_listed("*torch::unwind*,*CapturedTraceback*,*gather_with_cpp*,"
                          "*CachingAllocator*,*at::detail::empty*,*at::native::empty*,"
                          "*at::native::resize_bytes*,*at::create_out*,*set_output_raw_strided*,"
                          "*TensorIteratorBase*,*wrapper_CUDA*,*c10::impl::*,*at::_ops::*,Py*,_Py*,"
                          "_start,__libc_*,__clone,clone3,start_thread,pthread_*,std::*",
                          function);
}

static const struct rule *rule_of(const char *file, const char *function, bool python)
{
    static const struct rule none = {0}, cut = {.is_cut = true};
    for (const struct rule *r = rules; r < rules + sizeof rules / sizeof *rules; r++)
        if (python ? r->file && strstr(file, r->file) &&
                         (!r->function || strcmp(function, r->function) == 0)
                   : !r->file && strstr(function, r->function))
            return r;
    return !python && is_plumbing(function) ? &cut : &none;
}

/* What a frame shows of a path: of a package or of Python's library all behind its folder. */
static const char *shown_path(const char *file)
{
    const char *package = strstr(file, "-packages/"), *library = strstr(file, "/lib/python");
    const char *slash = strrchr(file, '/');
    return package   ? package + strlen("-packages/")
           : library ? library + strlen("/lib/")
           : slash   ? slash + 1
                     : file;
}

/* Adds the line of a frame, if it is known. */
static void add_place(struct text *text, const char *path, const char *file, uint64_t line)
{
    if (line && *file && strcmp(file, "??") != 0)
        text_add(text, "%s:%" PRIu64 " ", path, line);
}

bool pytorch_frame_text(const char *file, const char *name, uint64_t line, struct text *text)
{
    const bool python = file && text_glob("*?.py", file);
    char function[200];
    file = file ? file : "";
    name = name ? name : "?";
    shorten(name, function);
    add_place(text, shown_path(file), file, line);
    text_add(text, "%s", python || !*function ? name : function);
    return rule_of(file, python ? name : function, python)->is_cut;
}

void pytorch_site_begin(struct pytorch_site *site)
{
    *site = (struct pytorch_site){.text = site->text};
    site->text.length = 0;
}

void pytorch_site_add(struct pytorch_site *site, const char *file, const char *name, uint64_t line)
{
    const struct pytorch_frame frame = {file ? file : "", name ? name : "?", line};
    const bool python = text_glob("*?.py", frame.file);
    char function[200];
    shorten(frame.name, function);
    const struct rule *rule = rule_of(frame.file, python ? frame.name : function, python);
    site->category = site->category ? site->category : rule->category;
    site->has_native |= !python;
    if (python && !site->has_python) {
        site->has_python = true;
        site->has_own = false;
        site->count = 0;
    }
    if (python != site->has_python || rule->is_cut || site->has_own)
        return;
    site->has_own = python ? is_user(frame.file) : is_own_native(function);
    if (site->has_own || site->count < (python ? PYTORCH_SITE_FRAMES - 1 : 1))
        site->frames[site->count++] = frame;
}

void pytorch_site_end(struct pytorch_site *site)
{
    static const char generated[] = "torch::autograd::generated::";
    if (site->count && site->category)
        text_add(&site->text, "%s: ", site->category);
    for (unsigned i = site->count; i-- > 0;) {
        const struct pytorch_frame *f = &site->frames[i];
        const char *slash = strrchr(f->file, '/');
        char function[200];
        shorten(f->name, function);
        const char *of_autograd = strstr(function, generated);
        add_place(&site->text, slash ? slash + 1 : f->file, f->file, f->line);
        if (of_autograd)
            of_autograd += sizeof generated - 1; /* "ReluBackward0::apply" */
        text_add(&site->text, "%.*s%s", of_autograd ? (int)strcspn(of_autograd, ":_") : 200,
                 of_autograd        ? of_autograd
                 : site->has_python ? f->name
                                    : function,
                 i ? " > " : "");
    }
}
