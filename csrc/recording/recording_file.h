/* The memory-mapped file below a recording: one address range, reserved at
 * full size, backed chunk by chunk.
 *
 *   base                                   base + capacity
 *   | header | chunk | chunk | ... |  not backed yet  |
 *                                  ^ header->file_bytes
 *
 * Disk space is allocated when a chunk is created, so that a full disk is a
 * status here and never a SIGBUS later. Without a path, the range is anonymous
 * memory, which can be saved to a file at the end.
 *
 * The owner serialises fd_file_chunk; reading records needs no lock.
 */
#ifndef FD_RECORDING_FILE_H
#define FD_RECORDING_FILE_H

#include "base/status.h"
#include "recording/recording_names.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct fd_file {
    char *base;       /* the mapping; stays mapped until fd_file_clear */
    size_t capacity;  /* bytes of address space, the limit of the file */
    int fd;           /* -1 when in memory */
    char *path;       /* owned; NULL when in memory */
    char *name;       /* last part of the path */
    fd_folder folder; /* folder of the file; closed if in memory */
    char temporary[NAME_MAX + 1]; /* name until it is published; then "" */
    dev_t device;  /* identify the file: a program may close all descriptors */
    ino_t inode;   /* and reuse their numbers */
    bool reopened; /* `fd` is not the mapped and locked descriptor */
} fd_file;

/* Create the file, locked, under a temporary name in the folder. It is not
 * visible before fd_file_publish. If `name` is NULL, it is in memory and need
 * not be published. */
fd_status fd_file_begin(fd_file *file, const fd_folder *folder,
                        const char *name, size_t max_bytes, fd_error *error);

/* Rename the file to its final name (fd_recording_publish). Return FD_ECONFLICT if a
 * live process records under that name. */
fd_status fd_file_publish(fd_file *file, fd_error *error);

/* Write a recording in memory to a file with this name. */
fd_status fd_file_save(const fd_file *file, const fd_folder *folder,
                       const char *name, fd_error *error);

/* Release the space after the last chunk and close the descriptor. The mapping
 * stays: a late thread may still write to its records. Remove the previous
 * recording unless this one has no call. */
void fd_file_finish(fd_file *file);

/* Replace the mapping by private zero pages and forget the file, so that
 * nothing written through old pointers reaches it. The address range stays
 * reserved for ever. Safe in a forked child. */
void fd_file_detach(fd_file *file);

/* Release everything, including the address range. No other thread may hold a
 * pointer into it. */
void fd_file_clear(fd_file *file);

/* Allocate a chunk of at least `bytes` and fill in its header. Return FD_EFULL
 * and leave the file unchanged if max_mb or the disk is exhausted. */
fd_status fd_file_chunk(fd_file *file, uint32_t kind, uint32_t record_bytes,
                        size_t bytes, uint32_t owner, fd_chunk **chunk);

static inline fd_header *
fd_file_header(const fd_file *file)
{
    return (fd_header *)file->base;
}

/* Return whether a chunk of `bytes` is within max_mb. */
static inline bool
fd_file_fits(const fd_file *file, size_t bytes)
{
    return bytes <= file->capacity - fd_file_header(file)->file_bytes;
}

static inline void *
fd_file_record(const fd_file *file, uint32_t id)
{
    return file->base + (size_t)id * FD_ID_UNIT;
}

static inline uint32_t
fd_file_id(const fd_file *file, const void *record)
{
    return (uint32_t)((size_t)((const char *)record - file->base)
                      / FD_ID_UNIT);
}

static inline void *
fd_chunk_records(fd_chunk *chunk)
{
    return (char *)chunk + sizeof(fd_chunk);
}

/* Add lost records to a counter; from any thread. */
static inline void
fd_file_add(const fd_file *file, int counter, uint64_t count)
{
    atomic_fetch_add_explicit(&fd_file_header(file)->counters[counter], count,
                              memory_order_relaxed);
}

static inline void
fd_file_count(const fd_file *file, int counter)
{
    fd_file_add(file, counter, 1);
}

#endif
