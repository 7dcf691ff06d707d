#include "recording/recording_names.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "base/new_file.h"
#include "recording/recording_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC = 8, COPY_BLOCK = 1 << 18 };

/* The file name of a previous recording: "rank00000.fd.previous". */
typedef struct name_of {
    char text[NAME_MAX + 1];
} name_of;

static name_of
previous_name(const char *name)
{
    name_of made;
    int size = snprintf(made.text, sizeof made.text, "%s.previous", name);
    if (size >= (int)sizeof made.text) {
        made.text[0] = '\0'; /* too long: the empty name */
    }
    return made;
}

fd_writer
fd_writer_of(int fd, fd_header *header)
{
    fd_lock_state lock = fd_lock_query(fd);
    memset(header, 0, sizeof *header);
    fd_read_at(fd, header, sizeof *header, 0);
    if (lock == FD_LOCK_HELD) {
        return FD_WRITER_LIVES;
    }
    return header->state == FD_STATE_STOPPED
                || (lock == FD_LOCK_FREE
                    && header->liveness != FD_LIVENESS_UNKNOWN)
             ? FD_WRITER_GONE
             : FD_WRITER_UNKNOWN;
}

/* Open the recording with this name. Return FD_EFORMAT for other entries;
 * return FD_OK and set `fd` to -1 if it does not exist. */
static fd_status
open_ours(const fd_folder *folder, const char *name, int *fd, fd_error *error)
{
    char head[MAGIC] = "";
    *fd = -1;
    fd_status status = name[0] == '\0'
                         ? FD_OK
                         : fd_folder_file(folder, name, O_RDONLY, fd, error);
    if (*fd < 0) {
        return status == FD_EFORMAT
                 ? fd_folder_fail(folder, name, status, error,
                                  "not a regular file: remove it, or record "
                                  "to another folder")
                 : status;
    }
    fd_read_at(*fd, head, sizeof head, 0);
    if (memcmp(head, FD_FILE_MAGIC, sizeof head) == 0) {
        return FD_OK;
    }
    close(*fd);
    *fd = -1;
    return fd_folder_fail(folder, name, FD_EFORMAT, error,
                          "not a fastdispatch recording, so it is not "
                          "replaced: move it, or record to another folder");
}

/* Set `there` to whether the recording exists. Return FD_EFORMAT if the name
 * belongs to another kind of entry. */
static fd_status
check_ours(const fd_folder *folder, const char *name, bool *there,
           fd_error *error)
{
    int fd;
    fd_status status = open_ours(folder, name, &fd, error);
    *there = fd >= 0;
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static bool
is_ours(const fd_folder *folder, const char *name)
{
    bool there;
    check_ours(folder, name, &there, NULL);
    return there;
}

fd_status
fd_recording_lookup(const fd_folder *folder, const char *name,
                    fd_writer *writer, fd_error *error)
{
    int fd;
    fd_header header;
    *writer = FD_WRITER_NONE;
    fd_status status = open_ours(folder, name, &fd, error);
    if (fd >= 0) {
        *writer = fd_writer_of(fd, &header);
        close(fd);
    }
    return status;
}

static bool
has_call(const fd_folder *folder, const char *name)
{
    int fd;
    open_ours(folder, name, &fd, NULL);
    bool found = fd >= 0 && fd_has_call(fd);
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

static void
remove_ours(const fd_folder *folder, const char *name)
{
    if (is_ours(folder, name)) {
        fd_folder_remove(folder, name);
    }
}

/* Rename the recording to the name of the previous one, to free its name. */
static fd_status
set_aside(const fd_folder *folder, const char *name, fd_error *error)
{
    name_of previous = previous_name(name);
    bool older;
    fd_status status = check_ours(folder, previous.text, &older, error);
    if (status == FD_OK && older && !has_call(folder, name)) {
        remove_ours(folder, name);
        return FD_OK;
    }
    return status == FD_OK ? fd_folder_rename(folder, name, folder,
                                              previous.text, true, error)
                           : status;
}

static fd_status
name_taken(const fd_folder *folder, const char *name, fd_writer writer,
           fd_error *error)
{
    return fd_folder_fail(folder, name, FD_ECONFLICT, error,
                          writer == FD_WRITER_LIVES
                              ? "another running process records there"
                              : "another process may be recording there");
}

/* Free the name of an ended recording; fail for any other entry. */
static fd_status
free_place(const fd_folder *folder, const char *name, fd_error *error)
{
    fd_writer writer;
    fd_status status = fd_recording_lookup(folder, name, &writer, error);
    if (status != FD_OK || writer == FD_WRITER_NONE) {
        return status;
    }
    return writer == FD_WRITER_GONE ? set_aside(folder, name, error)
                                    : name_taken(folder, name, writer, error);
}

static void
bring_back(const fd_folder *folder, const char *name)
{
    name_of previous = previous_name(name);
    if (is_ours(folder, previous.text)) {
        fd_folder_rename(folder, previous.text, folder, name, true, NULL);
    }
}

fd_status
fd_recording_publish(const fd_folder *folder, const char *temporary,
                     const char *name, fd_error *error)
{
    fd_status status = free_place(folder, name, error);
    if (status != FD_OK) {
        return status;
    }
    status = fd_folder_rename(folder, temporary, folder, name, false, error);
    if (status == FD_ECONFLICT) {
        return name_taken(folder, name, FD_WRITER_LIVES, error);
    }
    if (status != FD_OK) {
        bring_back(folder, name);
    }
    return status;
}

void
fd_recording_drop_previous(const fd_folder *folder, const char *name)
{
    name_of previous = previous_name(name);
    if (is_ours(folder, previous.text) && has_call(folder, name)) {
        remove_ours(folder, previous.text);
    }
}

static fd_status
copy_bytes(int from, fd_new_file *to, fd_error *error)
{
    char *block = fd_malloc(COPY_BLOCK);
    fd_status status =
        block != NULL ? FD_OK : fd_fail(error, FD_ENOMEM, "out of memory");
    size_t at = 0;
    size_t got = 1;
    while (status == FD_OK && got > 0) {
        got = fd_read_at(from, block, COPY_BLOCK, at);
        status = fd_new_file_write(to, block, got, error);
        at += got;
    }
    fd_free(block);
    return status;
}

/* Copy a recording to another file system, then remove the original. */
static fd_status
copy_recording(const fd_folder *from, const char *name, const fd_folder *to,
               const char *target, fd_error *error)
{
    fd_new_file made;
    int fd;
    fd_status status = fd_folder_file(from, name, O_RDONLY, &fd, error);
    if (fd < 0) {
        return status != FD_OK
                 ? status
                 : fd_folder_fail(from, name, FD_EIO, error, "it is gone");
    }
    status = fd_new_file_open_in(&made, to, target, error);
    if (status == FD_OK) {
        status = copy_bytes(fd, &made, error);
        if (status == FD_OK) {
            status = fd_new_file_keep(&made, error);
        }
        else {
            fd_new_file_drop(&made);
        }
    }
    close(fd);
    if (status == FD_OK) {
        fd_folder_remove(from, name);
    }
    return status;
}

static fd_status
move_one(const fd_folder *from, const char *name, const fd_folder *to,
         const char *target, fd_error *error)
{
    fd_status status = fd_folder_rename(from, name, to, target, false, error);
    return status == FD_EIO && errno == EXDEV
             ? copy_recording(from, name, to, target, error)
             : status;
}

fd_status
fd_recording_move(const fd_folder *from, const char *name, const fd_folder *to,
                  const char *target, fd_error *error)
{
    fd_status status = free_place(to, target, error);
    if (status == FD_OK) {
        status = move_one(from, name, to, target, error);
        if (status == FD_OK) {
            fd_recording_drop_previous(to, target);
        }
    }
    return status;
}

/* Stop at the first call; read the chunk of contexts in blocks. */
static bool
chunk_has_call(int fd, const fd_chunk *chunk, size_t at)
{
    fd_context block[FD_PAGE / sizeof(fd_context)];
    size_t left = chunk->used;
    at += sizeof *chunk;
    while (left > 0) {
        size_t got = fd_read_at(fd, block, sizeof block, at) / sizeof *block;
        got = got < left ? got : left;
        for (size_t i = 0; i < got; i++) {
            if (block[i].parent != 0
                && (block[i].calls > 0 || block[i].resumes > 0)) {
                return true;
            }
        }
        if (got == 0) {
            return false;
        }
        left -= got;
        at += got * sizeof *block;
    }
    return false;
}

bool
fd_has_call(int fd)
{
    struct stat info;
    fd_chunk chunk;
    size_t at = FD_PAGE;
    if (fstat(fd, &info) != 0) {
        return true;
    }
    size_t size = (size_t)info.st_size;
    while (at < size
           && fd_read_at(fd, &chunk, sizeof chunk, at) == sizeof chunk) {
        bool good = chunk.magic == FD_CHUNK_MAGIC && chunk.offset == at
                 && chunk.bytes >= FD_PAGE && chunk.bytes <= size - at
                 && chunk.bytes % FD_PAGE == 0;
        if (good && chunk.kind == FD_CHUNK_CONTEXTS
            && chunk_has_call(fd, &chunk, at)) {
            return true;
        }
        at += good ? chunk.bytes : FD_PAGE;
    }
    return false;
}
