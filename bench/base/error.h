/* Errors: one list of codes, one way to carry a message.
 *
 * A function that can fail returns 0 or a negative code from ERROR_LIST. Where the caller can use
 * more than the code, the function also takes a `struct error *`, which may be NULL, and fills in a
 * sentence that names what was asked for, what happened and, where there is one, what to do.
 */
#pragma once

#define ERROR_LIST(X)                                                                              \
    X(ERR_HOST_MEMORY, -1, "the host is out of memory")                                            \
    X(ERR_OOM, -2, "the device is out of memory")                                                  \
    X(ERR_USAGE, -3, "the command line is not understood")                                         \
    X(ERR_PARSE, -4, "the program text is not valid")                                              \
    X(ERR_IO, -5, "a file could not be read or written")                                           \
    X(ERR_DEVICE, -6, "a driver call failed")                                                      \
    X(ERR_DEVICE_LOST, -7, "the device no longer answers")                                         \
    X(ERR_BUILD, -8, "a kernel did not compile")                                                   \
    X(ERR_UNSUPPORTED, -9, "the device or this build cannot do that")                              \
    X(ERR_PROGRAM, -10, "the program did something it must not do")                                \
    X(ERR_WRONG, -11, "the answer is wrong")                                                       \
    X(ERR_NOT_FOUND, -12, "there is nothing of that name")                                         \
    X(ERR_INTERNAL, -13, "this is a bug in gamut")                                                 \
    X(ERR_EXISTS, -14, "there is a file of that name")

#define ERROR_CODE(name, value, ...) name = value,
enum error_code { ERROR_LIST(ERROR_CODE) };

struct error {
    int code;
    char text[4000]; /* one sentence, or a compiler's log; a longer text is cut */
};

/* The sentence of ERROR_LIST for a code; "no error" for 0. Never NULL. */
const char *error_sentence(int code);

/* Stores code and the formatted message (e may be NULL) and returns code, so that a failing
 * function can end in `return error_set(e, ERR_…, …)`. */
int error_set(struct error *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Leaves the function with the code of a step that fails. */
#define TRY(step)                                                                                  \
    do {                                                                                           \
        int try_code = (step);                                                                     \
        if (try_code)                                                                              \
            return try_code;                                                                       \
    } while (0)

/* Takes a step where all steps before it went well, as `code` says, which receives its code. */
#define THEN(code, step)                                                                           \
    do {                                                                                           \
        if (!(code))                                                                               \
            (code) = (step);                                                                       \
    } while (0)

/* Takes a step in any case. `code` keeps the first failure. */
#define ALSO(code, step)                                                                           \
    do {                                                                                           \
        int also_code = (step);                                                                    \
        if (!(code))                                                                               \
            (code) = also_code;                                                                    \
    } while (0)

/* Puts the formatted text, which says where the error happened, in front of the message. */
void error_prefix(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the formatted text at the end of the message. */
void error_suffix(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
