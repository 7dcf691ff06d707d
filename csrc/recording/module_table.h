/* The nn.Module instances of a recording, identified by the enclosing module
 * and the path below it. A re-created model finds its old records. The
 * recording's lock serialises fd_modules_add. */
#ifndef FD_MODULE_TABLE_H
#define FD_MODULE_TABLE_H

#include "base/index.h"
#include "recording/string_table.h"

typedef struct fd_modules {
    fd_pool pool;
    fd_strings *strings; /* borrowed */
    fd_index index;
    uint32_t max_count;
} fd_modules;

void fd_modules_init(fd_modules *modules, fd_file *file, fd_strings *strings,
                     uint32_t max_count);
void fd_modules_clear(fd_modules *modules);

/* Return the module `name` of class `class_name` below `parent` (0: a root);
 * add it if it is new. Return 0 and count it if there is no space. */
uint32_t fd_modules_add(fd_modules *modules, uint32_t parent, const char *name,
                        const char *class_name);

/* Set how many elements and bytes the parameters of a module have. */
void fd_modules_measure(const fd_modules *modules, uint32_t id,
                        uint64_t parameters, uint64_t bytes);

#endif
