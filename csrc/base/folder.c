#include "base/folder.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIGH = 200, NO_REPLACE = 1 };

int
fd_high(int fd)
{
    struct rlimit limit;
    rlim_t from = HIGH;
    if (fd < 0) {
        return fd;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2 * HIGH) {
        from = limit.rlim_cur / 2;
    }
    int moved = (rlim_t)fd < from ? fcntl(fd, F_DUPFD_CLOEXEC, (int)from) : -1;
    if (moved >= 0) {
        close(fd);
    }
    return moved >= 0 ? moved : fd;
}

/* Return the mode of a new entry; `all` is the most permissive one. */
static mode_t
mode_in(const struct stat *folder, bool is_private, mode_t all)
{
    mode_t owner = all & 0700;
    return is_private && (folder->st_mode & S_ISVTX) != 0
             ? owner
             : owner | (folder->st_mode & all & 077);
}

/* Create the last directory of a path; its parents exist. */
static int
make_one(char *path)
{
    struct stat above;
    char *slash = strrchr(path, '/');
    const char *parent = slash == NULL ? "." : slash == path ? "/" : path;
    if (slash != NULL && slash != path) {
        *slash = '\0';
    }
    int found = stat(parent, &above);
    if (slash != NULL) {
        *slash = '/';
    }
    return found == 0 ? mkdir(path, mode_in(&above, true, 0777)) : -1;
}

static bool
make_all(const char *path)
{
    char part[PATH_MAX];
    size_t size = strlen(path);
    if (size >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        memcpy(part, path, i);
        part[i] = '\0';
        if (part[i - 1] != '/' && access(part, F_OK) != 0
            && make_one(part) != 0 && errno != EEXIST) {
            return false;
        }
    }
    return true;
}

bool
fd_is_file(int fd, dev_t device, ino_t inode)
{
    struct stat info;
    return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device
        && info.st_ino == inode;
}

static int
open_directory(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
}

static fd_status
hold_directory(fd_folder *folder, int fd, const char *path, fd_error *error)
{
    struct stat info = {.st_mode = 0};
    fstat(fd, &info);
    *folder = (fd_folder){.fd = fd_high(fd),
                          .path = fd_malloc(strlen(path) + 1),
                          .device = info.st_dev,
                          .inode = info.st_ino};
    if (folder->path == NULL) {
        fd_folder_close(folder);
        return fd_fail(error, FD_ENOMEM, "%s: out of memory", path);
    }
    strcpy(folder->path, path);
    return FD_OK;
}

bool
fd_folder_check(fd_folder *folder)
{
    if (fd_is_file(folder->fd, folder->device, folder->inode)) {
        return true;
    }
    int fd = folder->fd >= 0 ? open_directory(folder->path) : -1;
    bool same = fd_is_file(fd, folder->device, folder->inode);
    if (fd >= 0 && !same) {
        close(fd);
    }
    folder->fd = same ? fd_high(fd) : -1;
    return same;
}

fd_status
fd_folder_open(fd_folder *folder, const char *path, bool make, fd_error *error)
{
    *folder = (fd_folder){.fd = -1};
    int fd = open_directory(path);
    if (fd < 0 && make && errno == ENOENT && make_all(path)) {
        fd = open_directory(path);
    }
    return fd >= 0 ? hold_directory(folder, fd, path, error)
                   : fd_fail(error, FD_EIO, "%s: cannot %s the directory: %s",
                             path, make ? "make" : "open", strerror(errno));
}

fd_status
fd_folder_of(fd_folder *folder, const char *path, const char **name,
             const char *verb, fd_error *error)
{
    char part[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0
                : slash == path ? 1
                                : (size_t)(slash - path);
    *folder = (fd_folder){.fd = -1};
    *name = slash != NULL ? slash + 1 : path;
    int fd = -1;
    errno = ENAMETOOLONG;
    if (size < sizeof part && strlen(*name) <= NAME_MAX) {
        memcpy(part, size > 0 ? path : ".", size > 0 ? size : 1);
        part[size > 0 ? size : 1] = '\0';
        fd = open_directory(part);
    }
    return fd >= 0 ? hold_directory(folder, fd, part, error)
                   : fd_fail(error, FD_EIO, "%s: cannot %s: %s", path, verb,
                             strerror(errno));
}

fd_status
fd_folder_copy(fd_folder *folder, const fd_folder *from, fd_error *error)
{
    *folder = (fd_folder){.fd = -1};
    int fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
    return fd >= 0
             ? hold_directory(folder, fd, from->path, error)
             : fd_fail(error, FD_EIO, "%s: %s", from->path, strerror(errno));
}

void
fd_folder_close(fd_folder *folder)
{
    if (fd_is_file(folder->fd, folder->device, folder->inode)) {
        close(folder->fd);
    }
    fd_free(folder->path);
    *folder = (fd_folder){.fd = -1};
}

bool
fd_folder_is_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size <= NAME_MAX && strchr(name, '/') == NULL
        && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

fd_status
fd_folder_fail(const fd_folder *folder, const char *name, fd_status status,
               fd_error *error, const char *what)
{
    bool here = strcmp(folder->path, ".") == 0;
    return fd_fail(error, status, "%s%s%s: %s", here ? "" : folder->path,
                   here ? "" : "/", name, what);
}

fd_status
fd_folder_look(const fd_folder *folder, const char *name, struct stat *info,
               fd_error *error)
{
    *info = (struct stat){.st_mode = 0};
    if (!fd_folder_is_name(name)) {
        return fd_folder_fail(folder, name, FD_EINVAL, error,
                              "not the name of a file");
    }
    if (fstatat(folder->fd, name, info, AT_SYMLINK_NOFOLLOW) != 0
        && errno != ENOENT) {
        return fd_folder_fail(folder, name, FD_EIO, error, strerror(errno));
    }
    return FD_OK;
}

/* The type is checked before opening, because opening a device can have side
 * effects, and afterwards, because the entry may have been replaced in
 * between. */
fd_status
fd_folder_file(const fd_folder *folder, const char *name, int flags, int *fd,
               fd_error *error)
{
    struct stat info;
    *fd = -1;
    fd_status status = fd_folder_look(folder, name, &info, error);
    if (status != FD_OK || info.st_mode == 0) {
        return status;
    }
    if (S_ISREG(info.st_mode)) {
        *fd = openat(folder->fd, name,
                     flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (*fd < 0 && errno == ENOENT) {
            return FD_OK;
        }
        if (*fd < 0 && errno != ELOOP) {
            return fd_folder_fail(folder, name, FD_EIO, error,
                                  strerror(errno));
        }
        if (*fd >= 0 && fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) {
            return FD_OK;
        }
    }
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return fd_folder_fail(folder, name, FD_EFORMAT, error,
                          "not a regular file");
}

fd_status
fd_folder_create(const fd_folder *folder, const char *name, bool is_private,
                 int *fd, fd_error *error)
{
    struct stat info;
    *fd = fstat(folder->fd, &info) != 0
            ? -1
            : openat(folder->fd, name,
                     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     mode_in(&info, is_private, 0666));
    if (*fd >= 0) {
        return FD_OK;
    }
    return fd_folder_fail(folder, name,
                          errno == EEXIST ? FD_ECONFLICT : FD_EIO, error,
                          strerror(errno));
}

/* On file systems without rename-without-replacing, create a second link
 * instead: link fails if the name exists. */
static int
rename_to_new(int folder, const char *name, int to, const char *target)
{
    if (syscall(SYS_renameat2, folder, name, to, target, NO_REPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -1;
    }
    if (linkat(folder, name, to, target, 0) == 0) {
        return unlinkat(folder, name, 0);
    }
    /* Neither links nor renaming without replacing is supported: only the lock
     * of the run directory prevents a race between these two calls. */
    if (errno != EPERM && errno != EOPNOTSUPP) {
        return -1;
    }
    if (faccessat(to, target, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, to, target);
}

fd_status
fd_folder_rename(const fd_folder *folder, const char *name,
                 const fd_folder *to, const char *target, bool replace,
                 fd_error *error)
{
    int result = replace ? renameat(folder->fd, name, to->fd, target)
                         : rename_to_new(folder->fd, name, to->fd, target);
    if (result == 0) {
        return FD_OK;
    }
    int reason = errno;
    fd_status status =
        fd_folder_fail(to, target, reason == EEXIST ? FD_ECONFLICT : FD_EIO,
                       error, strerror(reason));
    errno = reason;
    return status;
}

void
fd_folder_remove(const fd_folder *folder, const char *name)
{
    unlinkat(folder->fd, name, 0);
}

fd_status
fd_open_to_read(const char *path, int *fd, struct stat *info, fd_error *error)
{
    *fd = -1;
    if (stat(path, info) != 0) {
        return fd_fail(error, FD_EIO, "%s: %s", path, strerror(errno));
    }
    if (S_ISREG(info->st_mode)) {
        *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (*fd < 0 || fstat(*fd, info) != 0) {
            fd_fail(error, FD_EIO, "%s: %s", path, strerror(errno));
        }
        else if (S_ISREG(info->st_mode)) {
            return FD_OK;
        }
    }
    if (!S_ISREG(info->st_mode)) {
        fd_fail(error, FD_EIO, "%s: %s", path,
                S_ISDIR(info->st_mode) ? strerror(EISDIR)
                                       : "not a regular file");
    }
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return FD_EIO;
}

size_t
fd_read_at(int fd, void *to, size_t size, size_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got =
            pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    return done;
}
