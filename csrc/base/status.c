#include "base/status.h"

#include <stdio.h>

const char *
fd_status_name(fd_status status)
{
    switch (status) {
    case FD_OK:
        return "ok";
    case FD_ENOMEM:
        return "out of memory";
    case FD_EFULL:
        return "no room left in the recording";
    case FD_EIO:
        return "input or output failed";
    case FD_EFORMAT:
        return "damaged or foreign file";
    case FD_EVERSION:
        return "written by a newer version";
    case FD_EINVAL:
        return "invalid request";
    case FD_ECONFLICT:
        return "inputs do not belong together";
    }
    return "unknown status";
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
