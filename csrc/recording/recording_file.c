#include "recording/recording_file.h"

#include "base/alloc.h"
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t
whole_pages(size_t bytes)
{
    return (bytes + FD_PAGE - 1) / FD_PAGE * FD_PAGE;
}

static bool
has_descriptor(const fd_file *file)
{
    return fd_is_file(file->fd, file->device, file->inode);
}

/* Reopen the file by its name after the program has closed the descriptor. */
static bool
reopen_file(fd_file *file)
{
    int fd = -1;
    file->fd = -1;
    if (fd_folder_check(&file->folder)) {
        fd_folder_file(&file->folder, file->name, O_RDWR, &fd, NULL);
    }
    if (fd_is_file(fd, file->device, file->inode)) {
        file->fd = fd_high(fd);
        file->reopened = true;
    }
    else if (fd >= 0) {
        close(fd);
    }
    return file->fd >= 0;
}

/* Allocate disk space or memory for [from, to) of the range. */
static fd_status
back_range(fd_file *file, size_t from, size_t to)
{
    if (file->folder.fd < 0) {
        return FD_OK;
    }
    int reason = has_descriptor(file) || reopen_file(file) ? EINTR : EBADF;
    if (!fd_file_size_is_allowed(to)) {
        reason = EFBIG;
    }
    while (reason == EINTR) {
        reason = posix_fallocate(file->fd, (off_t)from, (off_t)(to - from));
    }
    return reason == 0 ? FD_OK : FD_EFULL;
}

static fd_status
map_file(fd_file *file, fd_error *error)
{
    int flags = file->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
                             : MAP_SHARED;
    void *base =
        mmap(NULL, file->capacity, PROT_READ | PROT_WRITE, flags, file->fd, 0);
    if (base == MAP_FAILED) {
        return fd_fail(error, FD_ENOMEM, "cannot map %zu bytes: %s",
                       file->capacity, strerror(errno));
    }
    file->base = base;
    if (back_range(file, 0, FD_PAGE) != FD_OK) {
        return fd_fail(error, FD_EFULL, "%s: no space left on the disk",
                       file->path);
    }
    return FD_OK;
}

static fd_status
set_path(fd_file *file, const char *name, fd_error *error)
{
    const char *folder = file->folder.path;
    bool here = strcmp(folder, ".") == 0;
    size_t size = strlen(folder) + strlen(name) + 2;
    file->path = fd_malloc(size);
    if (file->path == NULL) {
        return fd_fail(error, FD_ENOMEM, "%s: out of memory", name);
    }
    snprintf(file->path, size, "%s%s%s", here ? "" : folder,
             here || strcmp(folder, "/") == 0 ? "" : "/", name);
    file->name = file->path + strlen(file->path) - strlen(name);
    return FD_OK;
}

static fd_status
open_new(fd_file *file, const fd_folder *folder, const char *name,
         fd_error *error)
{
    struct stat info;
    fd_status status = fd_folder_copy(&file->folder, folder, error);
    fd_then(status, set_path(file, name, error));
    if (status != FD_OK) {
        return status;
    }
    fd_temporary_name(file->temporary, name);
    if (!fd_folder_is_name(name)
        || fd_folder_create(&file->folder, file->temporary, true, &file->fd,
                            NULL)
               != FD_OK
        || fstat(file->fd, &info) != 0) {
        file->temporary[0] = '\0';
        return fd_fail(error, FD_EIO, "%s: cannot create: %s", file->path,
                       strerror(errno));
    }
    file->fd = fd_high(file->fd);
    file->device = info.st_dev;
    file->inode = info.st_ino;
    return FD_OK;
}

static void
fill_header(fd_file *file)
{
    bool unlocked = file->fd >= 0 && fd_lock_take(file->fd) != FD_LOCK_FREE;
    fd_header *header = fd_file_header(file);
    memcpy(header->magic, FD_FILE_MAGIC, sizeof header->magic);
    header->version = FD_FILE_VERSION;
    header->header_bytes = FD_PAGE;
    header->max_bytes = file->capacity;
    header->pid = (uint32_t)getpid();
    header->file_bytes = FD_PAGE;
    header->liveness = unlocked ? FD_LIVENESS_UNKNOWN : FD_LIVENESS_LOCK;
}

fd_status
fd_file_begin(fd_file *file, const fd_folder *folder, const char *name,
              size_t max_bytes, fd_error *error)
{
    *file = (fd_file){
        .fd = -1, .capacity = whole_pages(max_bytes), .folder = {.fd = -1}};
    fd_status status =
        name != NULL ? open_new(file, folder, name, error) : FD_OK;
    fd_then(status, map_file(file, error));
    if (status != FD_OK) {
        fd_file_clear(file);
        return status;
    }
    fill_header(file);
    return FD_OK;
}

fd_status
fd_file_publish(fd_file *file, fd_error *error)
{
    fd_status status = FD_OK;
    if (file->temporary[0] != '\0') {
        status = fd_recording_publish(&file->folder, file->temporary,
                                      file->name, error);
    }
    if (status == FD_OK) {
        file->temporary[0] = '\0';
    }
    return status;
}

fd_status
fd_file_chunk(fd_file *file, uint32_t kind, uint32_t record_bytes,
              size_t bytes, uint32_t owner, fd_chunk **chunk)
{
    fd_header *header = fd_file_header(file);
    size_t at = header->file_bytes;
    size_t size = whole_pages(bytes);
    if (size > file->capacity - at
        || back_range(file, at, at + size) != FD_OK) {
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

/* Replace [from, capacity) by private zero pages. MAP_FIXED does this in one step,
 * so the range is mapped at all times. */
static void
cover_range(const fd_file *file, size_t from)
{
    if (from < file->capacity) {
        mmap(file->base + from, file->capacity - from, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
}

/* Return whether the name still refers to this file. */
static bool
has_name(fd_file *file)
{
    struct stat info;
    return fd_folder_check(&file->folder)
        && fd_folder_look(&file->folder, file->name, &info, NULL) == FD_OK
        && info.st_dev == file->device && info.st_ino == file->inode;
}

static void
let_go(fd_file *file)
{
    if (has_descriptor(file)) {
        close(file->fd);
    }
    file->fd = -1;
    fd_folder_close(&file->folder);
}

/* Detach the header from the file: chunks that a late thread adds exist in
 * memory only. */
static void
seal_header(fd_file *file)
{
    mmap(file->base, FD_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
         file->fd, 0);
}

/* Release the lock, which the mapping would keep. If its original descriptor
 * has been closed, map the reopened file in its place. */
static void
unlock_file(fd_file *file)
{
    if (!has_descriptor(file) && !reopen_file(file)) {
        return;
    }
    if (file->reopened) {
        mmap(file->base, fd_file_header(file)->file_bytes,
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->fd, 0);
    }
    seal_header(file);
    fd_lock_release(file->fd);
}

void
fd_file_finish(fd_file *file)
{
    if (file->folder.fd >= 0) {
        cover_range(file, fd_file_header(file)->file_bytes);
        if (has_name(file)) {
            fd_recording_drop_previous(&file->folder, file->name);
        }
        unlock_file(file);
        let_go(file);
    }
}

fd_status
fd_file_save(const fd_file *file, const fd_folder *folder, const char *name,
             fd_error *error)
{
    fd_new_file made;
    fd_status status = fd_new_file_open_in(&made, folder, name, error);
    if (status != FD_OK) {
        return status;
    }
    status = fd_new_file_write(&made, file->base,
                               fd_file_header(file)->file_bytes, error);
    fd_then(status, fd_recording_publish(folder, made.temporary, name, error));
    if (status == FD_OK) {
        fd_recording_drop_previous(folder, name);
    }
    fd_new_file_drop(&made);
    return status;
}

/* Do not unlock here: a forked child shares the lock with its parent. */
void
fd_file_detach(fd_file *file)
{
    if (file->base != NULL) {
        cover_range(file, 0);
    }
    let_go(file);
}

void
fd_file_clear(fd_file *file)
{
    if (file->temporary[0] != '\0') {
        fd_folder_remove(&file->folder, file->temporary);
    }
    let_go(file);
    if (file->base != NULL) {
        munmap(file->base, file->capacity);
    }
    fd_free(file->path);
    *file = (fd_file){.fd = -1, .folder = {.fd = -1}};
}
