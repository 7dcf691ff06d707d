#include "base/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void
fd_temporary_name(char temporary[NAME_MAX + 1], const char *name)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        random = (uint64_t)now.tv_nsec << 32 | (uint64_t)getpid();
    }
    snprintf(temporary, NAME_MAX + 1, ".%.200s.%016llx.tmp", name,
             (unsigned long long)random);
}

bool
fd_file_size_is_allowed(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0
        || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

static fd_status
cannot_write(const fd_new_file *file, const char *why, fd_error *error)
{
    bool by_path = file->path != NULL;
    return fd_fail(error, FD_EIO, "%s%s%s: cannot write: %s",
                   by_path ? file->path : file->folder.path,
                   by_path ? "" : "/", by_path ? "" : file->name, why);
}

static fd_status
write_refused(const fd_new_file *file, fd_error *error)
{
    return cannot_write(file, strerror(errno), error);
}

/* An existing target must be a regular file, or a link to one. */
static fd_status
check_target(const fd_new_file *file, fd_error *error)
{
    struct stat info;
    if (fstatat(file->folder.fd, file->name, &info, 0) != 0
        || S_ISREG(info.st_mode)) {
        return FD_OK;
    }
    return cannot_write(
        file, S_ISDIR(info.st_mode) ? strerror(EISDIR) : "not a regular file",
        error);
}

static fd_status
begin_file(fd_new_file *file, const char *name, bool is_private,
           fd_error *error)
{
    size_t size = strlen(name);
    if (size == 0 || size > NAME_MAX) {
        errno = size == 0 ? EISDIR : ENAMETOOLONG;
        return write_refused(file, error);
    }
    memcpy(file->name, name, size + 1);
    fd_status status = check_target(file, error);
    if (status != FD_OK) {
        return status;
    }
    fd_temporary_name(file->temporary, name);
    status = fd_folder_create(&file->folder, file->temporary, is_private,
                              &file->fd, NULL);
    return status != FD_OK ? write_refused(file, error) : FD_OK;
}

fd_status
fd_new_file_open(fd_new_file *file, const char *path, fd_error *error)
{
    const char *name;
    *file = (fd_new_file){.path = path, .fd = -1};
    fd_status status =
        fd_folder_of(&file->folder, path, &name, "write", error);
    fd_then(status, begin_file(file, name, false, error));
    if (status != FD_OK) {
        fd_folder_close(&file->folder);
    }
    return status;
}

fd_status
fd_new_file_open_in(fd_new_file *file, const fd_folder *folder,
                    const char *name, fd_error *error)
{
    *file = (fd_new_file){.path = NULL, .fd = -1};
    fd_status status = fd_folder_copy(&file->folder, folder, error);
    fd_then(status, begin_file(file, name, true, error));
    if (status != FD_OK) {
        fd_folder_close(&file->folder);
    }
    return status;
}

fd_status
fd_new_file_write(fd_new_file *file, const void *bytes, size_t size,
                  fd_error *error)
{
    const char *from = bytes;
    off_t end = lseek(file->fd, 0, SEEK_CUR);
    if (end >= 0 && !fd_file_size_is_allowed((uint64_t)end + size)) {
        return cannot_write(file, strerror(EFBIG), error);
    }
    while (size > 0) {
        ssize_t written = write(file->fd, from, size);
        if (written < 0 && errno != EINTR) {
            return write_refused(file, error);
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
    int closed = close(file->fd);
    fd_status status =
        closed == 0
                && fd_folder_rename(&file->folder, file->temporary,
                                    &file->folder, file->name, true, NULL)
                       == FD_OK
            ? FD_OK
            : write_refused(file, error);
    if (status != FD_OK) {
        fd_folder_remove(&file->folder, file->temporary);
    }
    fd_folder_close(&file->folder);
    return status;
}

void
fd_new_file_drop(fd_new_file *file)
{
    close(file->fd);
    fd_folder_remove(&file->folder, file->temporary);
    fd_folder_close(&file->folder);
}
