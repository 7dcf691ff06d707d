/* An open directory, and access to the files in it by name. Other users may be
 * able to write to the directory. No function follows a link in it, waits for
 * a FIFO or a device, or leaves the directory. Only fd_open_to_read follows
 * links: it is for paths given by the user.
 *
 * Permissions of new files and directories: the owner's, and those of others
 * as far as both the directory and the umask grant them. A private file in a
 * directory with the sticky bit (such as /tmp) is readable by its owner
 * only. */
#ifndef FD_FOLDER_H
#define FD_FOLDER_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct fd_folder {
    int fd;     /* -1: closed */
    char *path; /* owned; for messages and for reopening */
    dev_t device;
    ino_t inode;
} fd_folder;

/* Open a directory. With `make`, create it and its missing parents first. */
fd_status fd_folder_open(fd_folder *folder, const char *path, bool make,
                         fd_error *error);

/* Open the directory that contains a file and set `name` to the last part of
 * the path. Error messages read "PATH: cannot VERB: reason". */
fd_status fd_folder_of(fd_folder *folder, const char *path, const char **name,
                       const char *verb, fd_error *error);

/* Open another descriptor of the same directory. */
fd_status fd_folder_copy(fd_folder *folder, const fd_folder *from,
                         fd_error *error);
void fd_folder_close(fd_folder *folder);

/* Make sure that the descriptor still refers to the directory: a program may
 * close all descriptors and reuse their numbers. If it does not, reopen the
 * directory by its path. Return false and close it if the path now leads to
 * another directory. */
bool fd_folder_check(fd_folder *folder);

/* Return whether a descriptor refers to the file with this device and
 * inode. */
bool fd_is_file(int fd, dev_t device, ino_t inode);

/* Return whether a name is valid for a file in a directory: not a path and not
 * too long. */
bool fd_folder_is_name(const char *name);

/* Call fd_fail with a message that begins with the path of `name`, such as
 * "runs/rank00000.fd: ". */
fd_status fd_folder_fail(const fd_folder *folder, const char *name,
                         fd_status status, fd_error *error, const char *what);

/* Get the stat data of the entry with this name; all fields are 0 if it does
 * not exist. */
fd_status fd_folder_look(const fd_folder *folder, const char *name,
                         struct stat *info, fd_error *error);

/* Open the regular file with this name; `flags` are O_RDONLY or O_RDWR. If it
 * does not exist, return FD_OK and set `fd` to -1. Return FD_EFORMAT if it is
 * not a regular file. */
fd_status fd_folder_file(const fd_folder *folder, const char *name, int flags,
                         int *fd, fd_error *error);

/* Create a file for reading and writing. Return FD_ECONFLICT if the name
 * exists. */
fd_status fd_folder_create(const fd_folder *folder, const char *name,
                           bool is_private, int *fd, fd_error *error);

/* Rename a file within its file system. Without `replace`, return FD_ECONFLICT
 * if the target exists. errno is EXDEV between file systems. */
fd_status fd_folder_rename(const fd_folder *folder, const char *name,
                           const fd_folder *to, const char *target,
                           bool replace, fd_error *error);

/* Remove a file; do nothing if it is a directory. */
void fd_folder_remove(const fd_folder *folder, const char *name);

/* Move a descriptor to a high number that programs do not expect to get: 200
 * or more, if the limit of the process allows it. */
int fd_high(int fd);

/* Open a regular file by its path for reading; links are followed. */
fd_status fd_open_to_read(const char *path, int *fd, struct stat *info,
                          fd_error *error);

/* Read up to `size` bytes from `offset`. Return the number of bytes read,
 * which is lower at the end of the file. */
size_t fd_read_at(int fd, void *to, size_t size, size_t offset);

#endif
