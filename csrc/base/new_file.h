/* A file that appears as a whole: written under a temporary name beside it,
 * then renamed, so that a reader sees the old file or the new one and nothing
 * between. */
#ifndef FD_NEW_FILE_H
#define FD_NEW_FILE_H

#include "base/status.h"

#include <stddef.h>

enum { FD_NEW_FILE_PATH = 4096 };

typedef struct fd_new_file {
    const char *path; /* borrowed */
    int fd;
    char temporary[FD_NEW_FILE_PATH];
} fd_new_file;

fd_status fd_new_file_open(fd_new_file *file, const char *path,
                           fd_error *error);
fd_status fd_new_file_write(fd_new_file *file, const void *bytes, size_t size,
                            fd_error *error);

/* Exactly one of these ends an opened file: put it in its place, or leave no
 * trace of it. */
fd_status fd_new_file_keep(fd_new_file *file, fd_error *error);
void fd_new_file_drop(fd_new_file *file);

#endif
