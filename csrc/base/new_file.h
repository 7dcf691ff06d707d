/* A file that appears as a whole: written under a temporary name beside it,
 * then renamed, so that a reader sees either the old file or the new one. The
 * temporary name is random and created exclusively. Only a regular file is
 * replaced; of a link, the link itself. */
#ifndef FD_NEW_FILE_H
#define FD_NEW_FILE_H

#include "base/folder.h"

typedef struct fd_new_file {
    const char *path; /* borrowed, for messages; NULL: by its name */
    fd_folder folder; /* owned */
    int fd;
    char name[NAME_MAX + 1];
    char temporary[NAME_MAX + 1];
} fd_new_file;

/* By its path, or by its name in a folder; the latter is private
 * (folder.h). */
fd_status fd_new_file_open(fd_new_file *file, const char *path,
                           fd_error *error);
fd_status fd_new_file_open_in(fd_new_file *file, const fd_folder *folder,
                              const char *name, fd_error *error);
fd_status fd_new_file_write(fd_new_file *file, const void *bytes, size_t size,
                            fd_error *error);

/* Exactly one of these ends an opened file: rename it to its path, or remove
 * it. */
fd_status fd_new_file_keep(fd_new_file *file, fd_error *error);
void fd_new_file_drop(fd_new_file *file);

/* A random name for a temporary file beside `name`. */
void fd_temporary_name(char temporary[NAME_MAX + 1], const char *name);

#endif
