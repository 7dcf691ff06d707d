/* A directory held open, and the files in it by their plain names. Others may
 * write to the directory too: whatever they put there, nothing here follows a
 * link, waits for a FIFO or a device, or leaves the directory. Reading by a
 * path that the user gave is at the end; that follows links.
 *
 * Who may read what is made here: its owner, and others as far as the
 * directory gives them the same right and the umask leaves it to them. In a
 * directory that strangers share (the sticky bit, as /tmp has) what is made
 * private is its owner's alone. */
#ifndef FD_FOLDER_H
#define FD_FOLDER_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct fd_folder {
    int fd;     /* -1: closed */
    char *path; /* owned; for messages, and to open it again */
    dev_t device;
    ino_t inode;
} fd_folder;

/* Open a directory; with `make` it and those above it are made where they are
 * missing. */
fd_status fd_folder_open(fd_folder *folder, const char *path, bool make,
                         fd_error *error);

/* Open the directory of a file. `name` becomes the last part of the path; a
 * failure reads "PATH: cannot VERB: reason". */
fd_status fd_folder_of(fd_folder *folder, const char *path, const char **name,
                       const char *verb, fd_error *error);

/* A second one of the same directory. */
fd_status fd_folder_copy(fd_folder *folder, const fd_folder *from,
                         fd_error *error);
void fd_folder_close(fd_folder *folder);

/* Whether the directory is open still: a program may close all descriptors it
 * finds, and get the same numbers for others. If so it is opened again by its
 * path; false and closed where that is another directory now. */
bool fd_folder_check(fd_folder *folder);

/* Whether a descriptor is that of this file. */
bool fd_is_file(int fd, dev_t device, ino_t inode);

/* Whether a name is that of a file in a directory: no path, not too long. */
bool fd_folder_is_name(const char *name);

/* fd_fail with the path of a name before the message: "runs/rank00000.fd: ". */
fd_status fd_folder_fail(const fd_folder *folder, const char *name,
                         fd_status status, fd_error *error, const char *what);

/* What is at a name: 0 and nothing in `info` when there is nothing. */
fd_status fd_folder_look(const fd_folder *folder, const char *name,
                         struct stat *info, fd_error *error);

/* Open the regular file of this name. `flags`: O_RDONLY or O_RDWR. FD_OK with
 * -1 when there is none; FD_EFORMAT when it is no regular file. */
fd_status fd_folder_file(const fd_folder *folder, const char *name, int flags,
                         int *fd, fd_error *error);

/* A new file, for reading and writing; FD_ECONFLICT when the name is taken. */
fd_status fd_folder_create(const fd_folder *folder, const char *name,
                           bool is_private, int *fd, fd_error *error);

/* Give a file another name, in the same file system, in place of what has that
 * name or, without `replace`, only where nothing has it: FD_ECONFLICT
 * otherwise. errno is EXDEV between file systems. */
fd_status fd_folder_rename(const fd_folder *folder, const char *name,
                           const fd_folder *to, const char *target,
                           bool replace, fd_error *error);

/* Remove a name that is no directory. */
void fd_folder_remove(const fd_folder *folder, const char *name);

/* The descriptor under a number that programs do not count on: 200 and more,
 * where the limit of the process allows it. */
int fd_high(int fd);

/* Open a regular file by its path for reading; links are followed. */
fd_status fd_open_to_read(const char *path, int *fd, struct stat *info,
                          fd_error *error);

/* Up to `size` bytes from `offset`, fewer at the end of the file. */
size_t fd_read_at(int fd, void *to, size_t size, size_t offset);

#endif
