/* The result of a function of the lower layers. Nothing below capture/ uses
 * Python: a status is returned to module/errors.c, which makes it an
 * exception.
 *
 * An fd_error holds the error message for the user, one line: the fault, its
 * location, and the remedy. Functions that can fail on input or on the file
 * system take one; functions that can only run out of memory or of space in
 * the file return a status alone.
 */
#ifndef FD_STATUS_H
#define FD_STATUS_H

#include <stdarg.h>

typedef enum fd_status {
    FD_OK = 0,
    FD_ENOMEM,   /* an allocation failed */
    FD_EFULL,    /* a size limit of the recording is reached (max_mb, disk) */
    FD_EIO,      /* a system call failed; errno is in the message */
    FD_EFORMAT,  /* malformed input */
    FD_EVERSION, /* written by a newer version */
    FD_EINVAL,   /* invalid request */
    FD_ECONFLICT /* inputs that must not be combined */
} fd_status;

typedef struct fd_error {
    char text[512];
} fd_error;

/* Return the name of a status for messages and tests. Never NULL. */
const char *fd_status_name(fd_status status);

/* Format the message (printf rules) into `error`, which may be NULL, and
 * return `status`, so that callers can write `return fd_fail(...)`. */
fd_status fd_fail(fd_error *error, fd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Run the next step of a sequence unless an earlier one failed; evaluates to
 * the status:
 *
 *     fd_status status = read_head(file);
 *     fd_then(status, read_body(file));
 *     return fd_then(status, read_tail(file));
 */
#define fd_then(status, ...) \
    ((status) = (status) == FD_OK ? (__VA_ARGS__) : (status))

#endif
