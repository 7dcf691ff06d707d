#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static fd_status
refused(const fd_new_file *file, fd_error *error)
{
    return fd_fail(error, FD_EIO, "%s: cannot write: %s", file->path,
                   strerror(errno));
}

fd_status
fd_new_file_open(fd_new_file *file, const char *path, fd_error *error)
{
    file->path = path;
    int size = snprintf(file->temporary, sizeof file->temporary, "%s.%ld.tmp",
                        path, (long)getpid());
    if (size < 0 || (size_t)size >= sizeof file->temporary) {
        return fd_fail(error, FD_EIO, "%s: the path is too long", path);
    }
    file->fd = open(file->temporary,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file->fd < 0 ? refused(file, error) : FD_OK;
}

fd_status
fd_new_file_write(fd_new_file *file, const void *bytes, size_t size,
                  fd_error *error)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t written = write(file->fd, from, size);
        if (written < 0 && errno != EINTR) {
            return refused(file, error);
        }
        if (written > 0) {
            from += written;
            size -= (size_t)written;
        }
    }
    return FD_OK;
}

fd_status
fd_new_file_keep(fd_new_file *file, fd_error *error)
{
    fd_status status = close(file->fd) == 0
                               && rename(file->temporary, file->path) == 0
                           ? FD_OK
                           : refused(file, error);
    if (status != FD_OK) {
        unlink(file->temporary);
    }
    return status;
}

void
fd_new_file_drop(fd_new_file *file)
{
    close(file->fd);
    unlink(file->temporary);
}
