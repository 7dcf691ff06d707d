#include "check.h"

#include <stdlib.h>
#include <string.h>

TEST(memory_of_a_request)
{
    ARENA(arena);
    FD_VECTOR(uint32_t) numbers = {NULL, 0, 0};
    FD_VECTOR(uint32_t) others = {NULL, 0, 0};
    ENTER(&arena);
    fd_map *map = fd_arena_map(&arena);
    fd_buffer *text = fd_arena_buffer(&arena);
    for (uint32_t i = 0; i < 1000; i++) {
        fd_arena_push(&arena, &numbers, i);
        fd_arena_push(&arena, &others, 2 * i);
        fd_arena_put(&arena, map, i + 1, i);
        fd_buffer_text(text, "0123456789");
    }
    uint64_t *zeros = fd_arena_new(&arena, 100, sizeof *zeros);
    EQUAL((uintptr_t)zeros % 16, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        EQUAL(numbers.list[i], i);
        EQUAL(others.list[i], 2 * i);
        EQUAL(fd_map_get(map, i + 1), i);
        EQUAL(zeros[i / 10], 0);
    }
    fd_arena_check(&arena, text->status);
    EQUAL(text->size, 10000);
    OK(fd_arena_left(&arena));
}

static void
count_release(void *object)
{
    ++**(int **)object;
}

/* The rest stays when a part or a single block is freed. */
TEST(parts)
{
    ARENA(arena);
    int released = 0;
    FD_VECTOR(int) numbers = {NULL, 0, 0};
    ENTER(&arena);
    fd_arena_push(&arena, &numbers, 7);
    fd_arena *part = fd_arena_part(&arena);
    int **object = fd_arena_owned(part, sizeof *object, count_release);
    *object = &released;
    char *block = fd_arena_new(part, 10, 10);
    memset(block, 1, 100);
    fd_arena_drop(block);
    for (int i = 0; i < 100; i++) {
        fd_arena_push(&arena, &numbers, i);
    }
    EQUAL(released, 0);
    fd_arena_drop(part);
    fd_arena_drop(NULL);
    EQUAL(released, 1);
    FIELDS(&numbers, (count, 101), (list[100], 99));
}

static void
refuse(fd_arena *arena)
{
    fd_arena *part = fd_arena_part(arena);
    fd_arena_new(part, 3, 5);
    fd_arena_fail(part, fd_fail(arena->error, FD_EFORMAT, "a: %d", 5));
}

TEST(failures)
{
    ARENA(arena);
    fd_error error;
    volatile int rounds = 0;
    if (fd_arena_caught(&arena, &error)) {
        STATUS(arena.status, rounds == 1 ? FD_EFORMAT : FD_ENOMEM);
        SAME(error.text, "a: 5");
    }
    if (rounds++ == 0) {
        refuse(&arena);
    }
    fd_arena_clear(&arena);
    if (!fd_arena_caught(&arena, NULL)) {
        fd_arena_new(&arena, SIZE_MAX / 2, 3);
        CHECK(false);
    }
    EQUAL(arena.status, FD_ENOMEM);
}
