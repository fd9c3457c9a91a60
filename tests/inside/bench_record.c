/* What a recorded call and a served one cost: `bench_record`, on the first device of OpenCL.
 *
 * The program runs itself as a child: without a layer, with the recorder as a layer that cannot
 * write, with one that records, and served by two strategies. The children take turns, so that a
 * change of the processor's speed meets all. A line is the median over the turns of the best of
 * each child's samples, in nanoseconds; a recorded call costs what it adds to the call without the
 * layer. `retain, release` and `create, release` are two calls, and a record each. For a new buffer
 * the recorder also asks the driver to say when it is gone. A served buffer is a sub-buffer, which
 * the driver makes and destroys too.
 */
#ifndef GAMUT_WITH_OPENCL
#include <stdio.h>

int main(void)
{
    printf("skipped: built without OpenCL\n");
    return 77;
}
#else
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { CALLS = 20000, SAMPLES = 15, TURNS = 7, WAYS = 5 };
/* X(name, calls, call): `call` is one round of what is measured. */
#define OPERATION_LIST(X)                                                                          \
    X("set an argument", 1, cl.set_argument(kernel, 0, sizeof buffer, &buffer))                    \
    X("retain, release", 2, (cl.retain(buffer), cl.release(buffer)))                               \
    X("create, release", 2, cl.release(cl.create(context, CL_MEM_READ_WRITE, 4096, NULL, NULL)))   \
    X("finish, idle", 1, cl.finish(queue))

enum {
#define X(name, calls, call) +1
    OPERATIONS = 0 OPERATION_LIST(X)
#undef X
};

static struct {
    cl_int(CL_API_CALL *platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int(CL_API_CALL *devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *,
                                 cl_uint *);
    cl_context(CL_API_CALL *context)(const void *, cl_uint, const cl_device_id *, void *, void *,
                                     cl_int *);
    cl_command_queue(CL_API_CALL *queue)(cl_context, cl_device_id, cl_command_queue_properties,
                                         cl_int *);
    cl_program(CL_API_CALL *program)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    cl_int(CL_API_CALL *build)(cl_program, cl_uint, const cl_device_id *, const char *, void *,
                               void *);
    cl_kernel(CL_API_CALL *kernel)(cl_program, const char *, cl_int *);
    cl_mem(CL_API_CALL *create)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    cl_int(CL_API_CALL *retain)(cl_mem);
    cl_int(CL_API_CALL *release)(cl_mem);
    cl_int(CL_API_CALL *set_argument)(cl_kernel, cl_uint, size_t, const void *);
    cl_int(CL_API_CALL *finish)(cl_command_queue);
} cl;

static bool find_calls(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    const struct {
        const char *name;
        void *to;
    } calls[] = {{"clGetPlatformIDs", &cl.platforms},
                 {"clGetDeviceIDs", &cl.devices},
                 {"clCreateContext", &cl.context},
                 {"clCreateCommandQueue", &cl.queue},
                 {"clCreateProgramWithSource", &cl.program},
                 {"clBuildProgram", &cl.build},
                 {"clCreateKernel", &cl.kernel},
                 {"clCreateBuffer", &cl.create},
                 {"clRetainMemObject", &cl.retain},
                 {"clReleaseMemObject", &cl.release},
                 {"clSetKernelArg", &cl.set_argument},
                 {"clFinish", &cl.finish}};
    for (unsigned i = 0; library && i < sizeof calls / sizeof *calls; i++)
        if (!(*(void **)calls[i].to = dlsym(library, calls[i].name)))
            return false;
    return library != NULL;
}

/* The best sample of each operation, in nanoseconds a round. */
static int measure(double best[OPERATIONS])
{
    static const char *text = "kernel void k(global int *a) { a[0] = 1; }";
    cl_platform_id platform;
    cl_device_id device;
    if (!find_calls() || cl.platforms(1, &platform, NULL) ||
        cl.devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    const cl_context context = cl.context(NULL, 1, &device, NULL, NULL, NULL);
    const cl_command_queue queue = cl.queue(context, device, 0, NULL);
    const cl_program program = cl.program(context, 1, &text, NULL, NULL);
    if (cl.build(program, 1, &device, "", NULL, NULL))
        return 1;
    const cl_kernel kernel = cl.kernel(program, "k", NULL);
    const cl_mem buffer = cl.create(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
    for (unsigned i = 0; i < OPERATIONS; i++)
        best[i] = 1e30;
    for (unsigned sample = 0; sample < SAMPLES; sample++) {
        unsigned i = 0;
#define X(name, calls, call)                                                                       \
    {                                                                                              \
        const uint64_t begin = clock_ns();                                                         \
        for (unsigned n = 0; n < CALLS; n++)                                                       \
            call;                                                                                  \
        const double ns = (double)(clock_ns() - begin) / CALLS;                                    \
        best[i] = ns < best[i] ? ns : best[i];                                                     \
        i++;                                                                                       \
    }
        OPERATION_LIST(X)
#undef X
    }
    return 0;
}

static int run_child(void)
{
    double best[OPERATIONS];
    const int code = measure(best);
    for (unsigned i = 0; !code && i < OPERATIONS; i++)
        printf("%f\n", best[i]);
    return code;
}

/* ---- the parent ---- */

static char folder[] = "/tmp/gamut-bench-XXXXXX";

/* The library stands in the folder of the build, three above this program's. */
static void set_way(unsigned way, const char *program)
{
    char library[4096];
    const char *end = strstr(program, "/tests/");
    snprintf(library, sizeof library, "%.*s/libgamut_%s_opencl.so", end ? (int)(end - program) : 0,
             program, way < 3 ? "record" : "serve");
    if (way > 0)
        setenv("OPENCL_LAYERS", library, 1);
    if (way == 1 || way == 2)
        setenv("GAMUT_RECORD", way == 1 ? "/dev/null" : folder, 1);
    if (way > 2)
        setenv("GAMUT_SERVE", way == 3 ? "pool" : "tlsf", 1);
}

/* Runs a child: its exit code. */
static int run_way(unsigned way, const char *program, double best[OPERATIONS])
{
    int pipes[2], status = 1;
    if (pipe(pipes) != 0)
        return 1;
    const pid_t id = fork();
    if (id == 0) {
        set_way(way, program);
        dup2(pipes[1], STDOUT_FILENO);
        if (way == 1) /* says once that it cannot write */
            fclose(stderr);
        execl(program, program, "child", (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    FILE *in = fdopen(pipes[0], "r");
    unsigned got = 0;
    while (in && got < OPERATIONS && fscanf(in, "%lf", &best[got]) == 1)
        got++;
    if (in)
        fclose(in);
    waitpid(id, &status, 0);
    return WIFEXITED(status) && (WEXITSTATUS(status) || got == OPERATIONS) ? WEXITSTATUS(status)
                                                                           : 1;
}

static int by_number(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
#define X(name, calls, call) name,
        OPERATION_LIST(X)
#undef X
    };
    static const unsigned calls[] = {
#define X(name, number, call) number,
        OPERATION_LIST(X)
#undef X
    };
    static double ns[OPERATIONS][WAYS][TURNS];
    char program[4096];
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return run_child();
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    if (!mkdtemp(folder))
        return 1;
    clock_print_cost(stdout);
    int code = 0;
    for (unsigned turn = 0; !code && turn < TURNS; turn++)
        for (unsigned way = 0; !code && way < WAYS; way++) {
            double best[OPERATIONS];
            code = run_way(way, program, best);
            for (unsigned i = 0; i < OPERATIONS; i++)
                ns[i][way][turn] = best[i];
        }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0)
        code = code ? code : 1;
    if (code) {
        printf("skipped: no device of OpenCL, or its libraries were not built\n");
        return code;
    }
    printf("%-16s %9s %9s %9s %15s %12s %12s\n", "ns a round", "untouched", "layer", "recorded",
           "added a call", "served: pool", "tlsf");
    for (unsigned i = 0; i < OPERATIONS; i++) {
        for (unsigned way = 0; way < WAYS; way++)
            qsort(ns[i][way], TURNS, sizeof ns[i][way][0], by_number);
        const double *none = ns[i][0], *layer = ns[i][1], *all = ns[i][2];
        printf("%-16s %9.1f %9.1f %9.1f %15.1f %12.1f %12.1f\n", names[i], none[TURNS / 2],
               layer[TURNS / 2], all[TURNS / 2], (all[TURNS / 2] - none[TURNS / 2]) / calls[i],
               ns[i][3][TURNS / 2], ns[i][4][TURNS / 2]);
    }
    return 0;
}
#endif
