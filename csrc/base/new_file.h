/* Atomic replacement of a file: the content is written under a temporary name
 * in the same directory, then renamed, so that a reader sees either the old
 * file or the new one. The temporary name is random and created exclusively.
 * Only a regular file is replaced; if the path is a symbolic link, the link
 * itself is. */
#ifndef FD_NEW_FILE_H
#define FD_NEW_FILE_H

#include "base/folder.h"

#include <stdint.h>

typedef struct fd_new_file {
    const char *path; /* borrowed, for messages; NULL: opened by name */
    fd_folder folder; /* owned */
    int fd;
    char name[NAME_MAX + 1];
    char temporary[NAME_MAX + 1];
} fd_new_file;

/* Open by path, or by name in a folder. In the latter case the file is private
 * (folder.h). */
fd_status fd_new_file_open(fd_new_file *file, const char *path,
                           fd_error *error);
fd_status fd_new_file_open_in(fd_new_file *file, const fd_folder *folder,
                              const char *name, fd_error *error);
fd_status fd_new_file_write(fd_new_file *file, const void *bytes, size_t size,
                            fd_error *error);

/* Finish an opened file: rename it to its path, or remove it. Call exactly one
 * of the two. */
fd_status fd_new_file_keep(fd_new_file *file, fd_error *error);
void fd_new_file_drop(fd_new_file *file);

/* Return whether the process may write a file of this size (RLIMIT_FSIZE).
 * Beyond the limit the kernel sends SIGXFSZ, which can end the process. */
bool fd_file_size_is_allowed(uint64_t size);

/* Write a random name for a temporary file next to `name`. */
void fd_temporary_name(char temporary[NAME_MAX + 1], const char *name);

#endif
