/* The memory of an exported schema or array, with the struct itself, its
 * children and dictionaries. A consumer can move these parts away and release
 * them one by one, on any thread; the last release frees the memory. */
#ifndef FD_ARROW_MEMORY_H
#define FD_ARROW_MEMORY_H

#include "base/alloc.h"
#include "base/arena.h"
#include "columns/arrow_abi.h"

#include <stdatomic.h>

typedef struct fd_arrow_memory {
    fd_arena arena;
    atomic_uint parts; /* not yet released */
} fd_arrow_memory;

static inline void
fd_arrow_memory_free(fd_arrow_memory *memory)
{
    fd_arena_clear(&memory->arena);
    fd_free(memory);
}

/* Define the function that releases a part; private_data is the memory. */
#define FD_ARROW_RELEASE(function, type) \
    static void function(struct type *part) \
    { \
        fd_arrow_memory *memory = part->private_data; \
        for (int64_t i = 0; i < part->n_children; i++) { \
            if (part->children[i]->release != NULL) { \
                part->children[i]->release(part->children[i]); \
            } \
        } \
        if (part->dictionary != NULL && part->dictionary->release != NULL) { \
            part->dictionary->release(part->dictionary); \
        } \
        part->release = NULL; \
        if (atomic_fetch_sub(&memory->parts, 1) == 1) { \
            fd_arrow_memory_free(memory); \
        } \
    }

#endif
