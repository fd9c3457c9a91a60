#include "run/rounds/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tree.h"
#include "run/select/strategy_file.h"

/* The worker's descriptor for the writing end of the pipe. It is not stdout, because drivers and
 * compilers print there. */
enum { LINES_FD = 3 };

/* ---- the parent's side ----------------------------------------------------------------------- */

/* Writes the job to a file that becomes the worker's stdin. Unlike a pipe it takes a job of any
 * size at once, even if the worker dies before it reads. */
static int job_file(const json_t *job, struct error *error)
{
    int fd = memfd_create("gamut job", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(error, ERR_IO, "no memory file for a worker's job: %s", strerror(errno));
    if (json_dumpfd(job, fd, JSON_COMPACT) || lseek(fd, 0, SEEK_SET) != 0) {
        int code = error_set(error, ERR_IO, "cannot write a worker's job: %s", strerror(errno));
        close(fd);
        return code;
    }
    return fd;
}

static void move_descriptor(int fd, int target)
{
    if (fd == target)
        fcntl(fd, F_SETFD, 0); /* it was opened close-on-exec */
    else
        dup2(fd, target);
}

/* The file that this process runs. /proc/self/exe would stay right when the file is replaced during
 * a run, but under valgrind it would start valgrind. */
static void own_path(char path[PATH_MAX])
{
    static const char deleted[] = " (deleted)";
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    size_t tail = sizeof deleted - 1;
    if (length <= 0 ||
        ((size_t)length > tail && strcmp(path + (size_t)length - tail, deleted) == 0))
        strcpy(path, "/proc/self/exe");
}

/* Makes a folder in $TMPDIR. NULL where that cannot be: the worker says so if it needs one. */
static char *make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    struct text path = {0};
    text_add(&path, "%s/gamut-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(path.data))
        return path.data; /* the text's buffer is the caller's */
    text_free(&path);
    return NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    remove(path);
    return 0;
}

/* A compiler that was killed may take a moment to die, and make another file in it. */
static void remove_folder(char *path)
{
    enum { OPEN_MOST = 8, TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 2000000};
    struct stat status;
    for (int i = 0; path && i < TRIES; i++) {
        nftw(path, remove_entry, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
        if (lstat(path, &status) != 0)
            break;
        nanosleep(&pause, NULL);
    }
    free(path);
}

/* Runs in the child; does not return. */
static void become_worker(const char *path, const char *folder, int job, int lines, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* the parent died before the line above */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (folder)
        setenv("TMPDIR", folder, 1);
    move_descriptor(job, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    move_descriptor(lines, LINES_FD);
    execl(path, "gamut", "worker", (char *)NULL);
    _exit(EXIT_FAILURE);
}

int process_start(struct process *process, const char *kind, json_t *job, bool own_folder,
                  struct error *error)
{
    *process = (struct process){.id = -1, .lines = -1};
    int ends[2];
    char path[PATH_MAX];
    json_t *of_kind = tree_object();
    tree_put(of_kind, kind, job);
    int input = job_file(of_kind, error);
    json_decref(of_kind);
    if (input < 0)
        return input;
    if (pipe2(ends, O_CLOEXEC)) {
        close(input);
        return error_set(error, ERR_IO, "no pipe for a worker: %s", strerror(errno));
    }
    own_path(path);
    process->folder = own_folder ? make_folder() : NULL;
    pid_t parent = getpid();
    pid_t id = fork();
    if (id == 0)
        become_worker(path, process->folder, input, ends[1], parent);
    int fork_errno = errno;
    close(input);
    close(ends[1]);
    if (id < 0) {
        close(ends[0]);
        remove_folder(process->folder);
        return error_set(error, ERR_IO, "cannot start a worker: %s", strerror(fork_errno));
    }
    /* Parent and child both do this, so that the group exists before the parent kills it. */
    setpgid(id, id);
    process->id = id;
    process->lines = ends[0];
    return 0;
}

/* Takes the first whole line out of the bytes that were read. */
static json_t *take_line(struct process *process)
{
    struct text *text = &process->text;
    char *end;
    while (text->length && (end = memchr(text->data, '\n', text->length))) {
        size_t length = (size_t)(end - text->data);
        json_t *json = json_loadb(text->data, length, 0, NULL);
        text->length -= length + 1;
        memmove(text->data, end + 1, text->length);
        if (json)
            return json;
    }
    return NULL;
}

enum process_event process_wait(struct process *process, int signals, uint64_t until_ns,
                                json_t **line)
{
    while (!(*line = take_line(process))) {
        struct pollfd sources[2] = {{.fd = process->lines, .events = POLLIN},
                                    {.fd = signals, .events = POLLIN}};
        uint64_t now = clock_ns();
        if (now >= until_ns)
            return PROCESS_QUIET;
        int timeout_ms = (int)((until_ns - now) / 1000000 % 3600000) + 1;
        if (poll(sources, 2, timeout_ms) <= 0)
            continue;
        if (sources[1].revents)
            return PROCESS_INTERRUPT;
        if (!sources[0].revents)
            continue;
        char bytes[16384];
        ssize_t n = read(process->lines, bytes, sizeof bytes);
        if (n > 0)
            text_add_bytes(&process->text, bytes, (size_t)n);
        else if (n == 0 || errno != EINTR) {
            process->ended = true;
            return PROCESS_ENDED;
        }
    }
    return PROCESS_LINE;
}

void process_end(struct process *process, char how[128])
{
    int status = 0;
    if (!process->ended)
        kill(-process->id, SIGKILL);
    waitpid(process->id, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(how, 128, "died from SIG%s (%s)", sigabbrev_np(WTERMSIG(status)),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, 128, "exited with status %d", WEXITSTATUS(status));
    close(process->lines);
    remove_folder(process->folder);
    text_free(&process->text);
    *process = (struct process){.id = -1, .lines = -1};
}

void process_catch_signals(struct caught_signals *caught)
{
    struct sigaction hang_up;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaction(SIGHUP, NULL, &hang_up);
    if (hang_up.sa_handler != SIG_IGN)
        sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &caught->old_mask);
    caught->descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool process_release_signals(struct caught_signals *caught)
{
    struct signalfd_siginfo arrived;
    bool any = false;
    if (caught->descriptor < 0)
        return false;
    while (read(caught->descriptor, &arrived, sizeof arrived) > 0)
        any = true;
    close(caught->descriptor);
    caught->descriptor = -1;
    sigprocmask(SIG_SETMASK, &caught->old_mask, NULL);
    return any;
}

struct ask {
    void (*hear)(void *context, const json_t *line);
    void *context;
    struct error failure; /* the error that the worker sent */
};

static void ask_hear(struct ask *ask, const json_t *line)
{
    const json_t *code = json_object_get(line, "error");
    ask->hear(ask->context, line);
    if (code)
        error_set(&ask->failure, (int)json_integer_value(code), "%s", tree_get_text(line, "text"));
}

int process_ask(const char *kind, json_t *job, uint64_t silence_ns,
                void (*hear)(void *context, const json_t *line), void *context, bool *interrupted,
                struct error *error)
{
    struct ask ask = {.hear = hear, .context = context};
    struct caught_signals signals = {.descriptor = -1};
    struct process process;
    char how[128], limit[32];
    if (interrupted)
        process_catch_signals(&signals);
    int code = process_start(&process, kind, job, interrupted != NULL, error);
    enum process_event event = PROCESS_LINE;
    while (!code && event == PROCESS_LINE) {
        json_t *line;
        event = process_wait(&process, signals.descriptor, clock_ns() + silence_ns, &line);
        if (event == PROCESS_LINE)
            ask_hear(&ask, line);
        json_decref(line);
    }
    const bool stopped = process_release_signals(&signals);
    if (interrupted)
        *interrupted = stopped;
    TRY(code);
    process_end(&process, how);
    if (stopped)
        return 0;
    if (ask.failure.code)
        return error_set(error, ask.failure.code, "%s", ask.failure.text);
    if (event == PROCESS_QUIET)
        return error_set(error, ERR_DEVICE, "no answer within %s",
                         text_ns(limit, (double)silence_ns));
    if (strcmp(how, "exited with status 0") != 0)
        return error_set(error, ERR_DEVICE, "the worker %s", how);
    return 0;
}

/* ---- the worker's side ----------------------------------------------------------------------- */

void worker_send(FILE *out, json_t *line)
{
    tree_print(line, JSON_COMPACT, out);
    fflush(out);
}

int worker_main(const struct worker_job *jobs)
{
    FILE *out = fcntl(LINES_FD, F_GETFD) >= 0 ? fdopen(LINES_FD, "w") : NULL;
    if (!out) {
        fputs("gamut: worker is not a command of its own: gamut run and others start it\n", stderr);
        return 2;
    }
    /* A compiler that this process starts must not hold the pipe open. If the parent is gone, a
     * write must not kill this process in the middle of a driver call. */
    fcntl(LINES_FD, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    struct error error = {0};
    json_t *json = json_loadf(stdin, 0, NULL), *job = NULL;
    while (jobs->kind && !(job = json_object_get(json, jobs->kind)))
        jobs++;
    int code = strategy_files_of_parent(&error);
    THEN(code, jobs->kind ? jobs->work(job, out, &error)
                          : error_set(&error, ERR_INTERNAL, "the worker's input is not a job"));
    if (code) {
        json_t *line = tree_object();
        tree_put(line, "error", json_integer(error.code));
        tree_put(line, "text", tree_text(error.text));
        worker_send(out, line);
    }
    json_decref(json);
    /* The pipe stays open until the process is gone: should a driver hang in its own clean-up, the
     * parent still waits for the end of the pipe, with its time limit. */
    return code ? 2 : 0;
}
