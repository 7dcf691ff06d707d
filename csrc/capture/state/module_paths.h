/* Division of file paths into a machine-dependent prefix and the rest, and
 * their packages. Filled once at start, read-only afterwards. */
#ifndef FD_MODULE_PATHS_H
#define FD_MODULE_PATHS_H

#include "base/vector.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fd_prefix {
    char *text; /* owned; ends with '/' */
    size_t size;
    uint8_t from; /* FD_FROM_* */
} fd_prefix;

typedef struct fd_paths {
    FD_VECTOR(fd_prefix) prefixes; /* longest first */
} fd_paths;

typedef struct fd_file_package {
    uint16_t strip; /* length of the machine-dependent prefix */
    uint8_t from;   /* FD_FROM_* */
    char package[64];
} fd_file_package;

/* Add a prefix unless it exists; append a '/' if it is missing. */
fd_status fd_paths_add(fd_paths *paths, const char *prefix, uint8_t from);
void fd_paths_clear(fd_paths *paths);

/* Find the longest matching prefix of a file. Files without a prefix belong to
 * the user and keep their last two components. */
void fd_paths_package(const fd_paths *paths, const char *file,
                      fd_file_package *found);

#endif
