#include "base/status.h"

#include <stdio.h>

static const char *const names[] = {
    [FD_OK] = "ok",
    [FD_ENOMEM] = "out of memory",
    [FD_EFULL] = "no room left in the recording",
    [FD_EIO] = "input or output failed",
    [FD_EFORMAT] = "damaged or foreign file",
    [FD_EVERSION] = "written by a newer version",
    [FD_EINVAL] = "invalid request",
    [FD_ECONFLICT] = "inputs do not belong together",
};

const char *
fd_status_name(fd_status status)
{
    return status < sizeof names / sizeof *names ? names[status]
                                                 : "unknown status";
}

fd_status
fd_fail(fd_error *error, fd_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
    return status;
}
