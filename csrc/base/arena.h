/* The memory of one request, such as reading a file and deriving facts from it.
 * All of it is freed at once, and its failure is checked at one place, the
 * begin of the request:
 *
 *     if (fd_arena_caught(&arena, error)) {
 *         return arena.status;
 *     }
 *     int *numbers = fd_arena_new(&arena, count, sizeof *numbers);
 *     fd_arena_push(&arena, &vector, 42);
 *     fd_arena_check(&arena, fd_open_to_read(path, &fd, &info, arena.error));
 *     return fd_arena_left(&arena);
 *
 * Functions in between return no status: after a failure, the program continues
 * at `fd_arena_caught` (by longjmp). They must hold nothing that needs a
 * release, except through fd_arena_owned, and no frame of Python or of a
 * foreign library may be in between. A vector belongs either to an arena or to
 * the heap (base/vector.h). */
#ifndef FD_ARENA_H
#define FD_ARENA_H

#include "base/buffer.h"
#include "base/map.h"
#include "base/vector.h"

#include <setjmp.h>

typedef struct fd_arena {
    struct fd_arena_block *first; /* owned */
    struct fd_arena *around;      /* of a part: the arena that contains it */
    jmp_buf exit;
    fd_error *error;  /* of the request; can be NULL */
    fd_status status; /* reason of the failure */
} fd_arena;

/* Free everything. Zero-initialised memory is an empty arena. */
void fd_arena_clear(fd_arena *arena);

/* Begin a request. True: it failed with `status`. A request contains no other
 * request of the same arena. */
#define fd_arena_caught(arena, error) \
    (setjmp(*fd_arena_enter((arena), (error))) != 0)
jmp_buf *fd_arena_enter(fd_arena *arena, fd_error *error);

/* End a request that succeeded; return FD_OK. */
fd_status fd_arena_left(fd_arena *arena);

/* End the request with a status other than FD_OK. */
_Noreturn void fd_arena_fail(fd_arena *arena, fd_status status);

static inline void
fd_arena_check(fd_arena *arena, fd_status status)
{
    if (status != FD_OK) {
        fd_arena_fail(arena, status);
    }
}

/* Begin a part with temporary memory, which fd_arena_drop frees before the
 * rest. */
fd_arena *fd_arena_part(fd_arena *around);

/* Return zeroed memory for `count` elements. */
void *fd_arena_new(fd_arena *arena, size_t count, size_t size);

/* Return a zeroed object whose resources `release` frees. */
void *fd_arena_owned(fd_arena *arena, size_t size, void (*release)(void *));

/* Free the result of one of these functions, or the list of a vector. */
void fd_arena_drop(void *block);

/* Return an empty map or buffer. */
fd_map *fd_arena_map(fd_arena *arena);
fd_buffer *fd_arena_buffer(fd_arena *arena);

static inline void
fd_arena_put(fd_arena *arena, fd_map *map, uint64_t key, uint32_t value)
{
    fd_arena_check(arena, fd_map_put(map, key, value));
}

/* Reserve capacity for `more` elements of a vector. */
#define fd_arena_reserve(arena, vector, more) \
    ((vector)->capacity - (vector)->count >= (more) \
         ? (void)0 \
         : fd_arena_grow((arena), (void **)&(vector)->list, (vector)->count, \
                         &(vector)->capacity, sizeof *(vector)->list, \
                         (more)))

#define fd_arena_push(arena, vector, ...) \
    (fd_arena_reserve((arena), (vector), 1), \
     (void)((vector)->list[(vector)->count++] = (__VA_ARGS__)))

void fd_arena_grow(fd_arena *arena, void **list, uint32_t count,
                   uint32_t *capacity, size_t size, size_t more);

#endif
