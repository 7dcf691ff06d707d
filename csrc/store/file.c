#include "store/file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t
whole_pages(size_t bytes)
{
    return (bytes + FD_PAGE - 1) / FD_PAGE * FD_PAGE;
}

/* Open an existing file's lock; FD_ECONFLICT while its writer lives. */
static fd_status
check_abandoned(const char *path, fd_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return FD_OK;
    }
    bool live = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    if (live) {
        return fd_fail(error, FD_ECONFLICT,
                       "%s: another running process records there", path);
    }
    return FD_OK;
}

/* The side file of the recording that is replaced. */
static void
drop_old_spill(const char *path)
{
    char side[PATH_MAX];
    char magic[sizeof FD_SPILL_MAGIC - 1];
    int size = snprintf(side, sizeof side, "%s%s", path, FD_SPILL_SUFFIX);
    int fd = size < (int)sizeof side ? open(side, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    if (read(fd, magic, sizeof magic) == (ssize_t)sizeof magic
        && memcmp(magic, FD_SPILL_MAGIC, sizeof magic) == 0) {
        unlink(side);
    }
    close(fd);
}

/* Unlink first: a reader of the old recording keeps its own pages. */
static fd_status
open_new(fd_file *file, const char *path, fd_error *error)
{
    fd_status status = check_abandoned(path, error);
    if (status != FD_OK) {
        return status;
    }
    unlink(path);
    drop_old_spill(path);
    file->path = fd_malloc(strlen(path) + 1);
    if (file->path == NULL) {
        return fd_fail(error, FD_ENOMEM, "%s: out of memory", path);
    }
    strcpy(file->path, path);
    file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        return fd_fail(error, errno == EEXIST ? FD_ECONFLICT : FD_EIO,
                       "%s: cannot create: %s", path, strerror(errno));
    }
    flock(file->fd, LOCK_EX | LOCK_NB);
    return FD_OK;
}

/* Back [from, to) of the range with disk space or memory. */
static fd_status
back(fd_file *file, size_t from, size_t to)
{
    if (file->fd < 0) {
        return FD_OK;
    }
    int reason;
    do {
        reason = posix_fallocate(file->fd, (off_t)from, (off_t)(to - from));
    } while (reason == EINTR);
    return reason == 0 ? FD_OK : FD_EFULL;
}

static fd_status
map(fd_file *file, fd_error *error)
{
    int flags = file->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
                             : MAP_SHARED;
    void *base = mmap(NULL, file->room, PROT_READ | PROT_WRITE, flags,
                      file->fd, 0);
    if (base == MAP_FAILED) {
        return fd_fail(error, FD_ENOMEM, "cannot map %zu bytes: %s",
                       file->room, strerror(errno));
    }
    file->base = base;
    if (back(file, 0, FD_PAGE) != FD_OK) {
        return fd_fail(error, FD_EFULL, "%s: no space left on the disk",
                       file->path);
    }
    return FD_OK;
}

fd_status
fd_file_create(fd_file *file, const char *path, size_t max_bytes,
               fd_error *error)
{
    *file = (fd_file){.fd = -1, .room = whole_pages(max_bytes)};
    fd_status status = FD_OK;
    if (path != NULL) {
        status = open_new(file, path, error);
    }
    if (status == FD_OK) {
        status = map(file, error);
    }
    if (status != FD_OK) {
        if (file->fd >= 0) {
            unlink(file->path);
        }
        fd_file_clear(file);
        return status;
    }
    fd_header *header = fd_file_header(file);
    memcpy(header->magic, FD_FILE_MAGIC, sizeof header->magic);
    header->version = FD_FILE_VERSION;
    header->header_bytes = FD_PAGE;
    header->max_bytes = file->room;
    header->pid = (uint32_t)getpid();
    header->file_bytes = FD_PAGE;
    return FD_OK;
}

fd_status
fd_file_spill(fd_file *file, size_t max_bytes, fd_error *error)
{
    size_t size = strlen(file->path) + sizeof FD_SPILL_SUFFIX;
    char *path = fd_malloc(size);
    fd_file *spill = fd_malloc(sizeof *spill);
    fd_status status = FD_ENOMEM;
    if (path != NULL && spill != NULL) {
        snprintf(path, size, "%s%s", file->path, FD_SPILL_SUFFIX);
        status = fd_file_create(spill, path, max_bytes, error);
    }
    else {
        fd_fail(error, FD_ENOMEM, "%s: out of memory", file->path);
    }
    fd_free(path);
    if (status != FD_OK) {
        fd_free(spill);
        return status;
    }
    fd_header *header = fd_file_header(spill);
    memcpy(header->id, fd_file_header(file)->id, sizeof header->id);
    memcpy(header->magic, FD_SPILL_MAGIC, sizeof header->magic);
    file->spill = spill;
    return FD_OK;
}

fd_status
fd_file_chunk(fd_file *file, uint32_t kind, uint32_t record_bytes,
              size_t bytes, uint32_t owner, fd_chunk **chunk)
{
    fd_header *header = fd_file_header(file);
    size_t at = header->file_bytes;
    size_t size = whole_pages(bytes);
    if (size > file->room - at || back(file, at, at + size) != FD_OK) {
        fd_file_count(file, FD_COUNT_DISK_FULL);
        return FD_EFULL;
    }
    fd_chunk *made = (fd_chunk *)(file->base + at);
    made->magic = FD_CHUNK_MAGIC;
    made->offset = at;
    made->bytes = size;
    made->kind = kind;
    made->record_bytes = record_bytes;
    made->capacity = (uint32_t)((size - sizeof *made) / record_bytes);
    made->owner = owner;
    atomic_store_explicit(&header->file_bytes, at + size,
                          memory_order_release);
    *chunk = made;
    return FD_OK;
}

/* Private zero pages in place of [from, room). MAP_FIXED swaps them in one
 * step: no instant without a mapping. */
static void
cover(const fd_file *file, size_t from)
{
    if (from < file->room) {
        mmap(file->base + from, file->room - from, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
}

void
fd_file_finish(fd_file *file)
{
    if (file->spill != NULL && file->spill->fd >= 0) {
        if (fd_file_header(file->spill)->file_bytes == FD_PAGE) {
            unlink(file->spill->path);
        }
        fd_file_finish(file->spill);
    }
    if (file->fd >= 0) {
        cover(file, fd_file_header(file)->file_bytes);
        flock(file->fd, LOCK_UN); /* the mapping would keep the lock */
        close(file->fd);
        file->fd = -1;
    }
}

/* No unlocking here: a forked child shares the lock with its parent. */
void
fd_file_detach(fd_file *file)
{
    if (file->spill != NULL) {
        fd_file_detach(file->spill);
    }
    if (file->base != NULL) {
        cover(file, 0);
    }
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}

void
fd_file_clear(fd_file *file)
{
    if (file->spill != NULL) {
        fd_file_clear(file->spill);
        fd_free(file->spill);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->base != NULL) {
        munmap(file->base, file->room);
    }
    fd_free(file->path);
    *file = (fd_file){.fd = -1};
}
