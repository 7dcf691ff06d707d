#include "base/arena.h"

/* The head of each allocation; its size keeps the memory after it aligned. */
typedef struct fd_arena_block {
    _Alignas(16) struct fd_arena_block *next;
    struct fd_arena_block **link; /* the pointer to this block */
    void (*release)(void *);
} fd_arena_block;

static void
link_block(fd_arena_block *block)
{
    *block->link = block;
    if (block->next != NULL) {
        block->next->link = &block->next;
    }
}

void
fd_arena_drop(void *memory)
{
    if (memory == NULL) {
        return;
    }
    fd_arena_block *block = (fd_arena_block *)memory - 1;
    *block->link = block->next;
    if (block->next != NULL) {
        block->next->link = block->link;
    }
    if (block->release != NULL) {
        block->release(memory);
    }
    fd_free(block);
}

void
fd_arena_clear(fd_arena *arena)
{
    while (arena->first != NULL) {
        fd_arena_drop(arena->first + 1);
    }
}

jmp_buf *
fd_arena_enter(fd_arena *arena, fd_error *error)
{
    arena->status = FD_OK;
    arena->error = error;
    return &arena->exit;
}

fd_status
fd_arena_left(fd_arena *arena)
{
    arena->error = NULL;
    return FD_OK;
}

void
fd_arena_fail(fd_arena *arena, fd_status status)
{
    while (arena->around != NULL) {
        arena = arena->around;
    }
    arena->status = status;
    longjmp(arena->exit, 1);
}

void *
fd_arena_owned(fd_arena *arena, size_t size, void (*release)(void *))
{
    fd_arena_block *block = size > SIZE_MAX - sizeof *block
                              ? NULL
                              : fd_calloc(1, sizeof *block + size);
    if (block == NULL) {
        fd_arena_fail(arena, FD_ENOMEM);
    }
    *block = (fd_arena_block){arena->first, &arena->first, release};
    link_block(block);
    return block + 1;
}

void *
fd_arena_new(fd_arena *arena, size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        fd_arena_fail(arena, FD_ENOMEM);
    }
    return fd_arena_owned(arena, all, NULL);
}

static void
release_part(void *part)
{
    fd_arena_clear(part);
}

fd_arena *
fd_arena_part(fd_arena *around)
{
    fd_arena *part = fd_arena_owned(around, sizeof *part, release_part);
    part->around = around;
    return part;
}

static void
release_map(void *map)
{
    fd_map_clear(map);
}

fd_map *
fd_arena_map(fd_arena *arena)
{
    return fd_arena_owned(arena, sizeof(fd_map), release_map);
}

static void
release_buffer(void *buffer)
{
    fd_buffer_clear(buffer);
}

fd_buffer *
fd_arena_buffer(fd_arena *arena)
{
    return fd_arena_owned(arena, sizeof(fd_buffer), release_buffer);
}

void
fd_arena_grow(fd_arena *arena, void **list, uint32_t count, uint32_t *capacity,
              size_t size, size_t more)
{
    uint32_t wanted = fd_vector_capacity(count, *capacity, more);
    fd_arena_block *block = *list == NULL ? NULL : (fd_arena_block *)*list - 1;
    fd_arena_block kept =
        block != NULL ? *block
                      : (fd_arena_block){arena->first, &arena->first, NULL};
    block =
        wanted == 0 ? NULL : fd_realloc(block, sizeof *block + wanted * size);
    if (block == NULL) {
        fd_arena_fail(arena, FD_ENOMEM);
    }
    *block = kept;
    link_block(block);
    *list = block + 1;
    *capacity = wanted;
}
