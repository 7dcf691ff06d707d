#include "check.h"

#include "et/readers/tensor_identities.h"

#define TENSOR(address, storage) \
    { \
        (uint64_t) FD_OPERAND_TENSOR | UINT64_C(6) << 8, address, storage, 0, \
            1 \
    }

enum { WORDS = 5 };

static fd_words
words(const uint64_t list[][WORDS], size_t count)
{
    return (fd_words){list[0], list[0] + count * WORDS};
}

static void
push(fd_arena *arena, fd_et_calls *calls, fd_words in, fd_words out)
{
    uint32_t begin = 2 * calls->count;
    fd_arena_push(arena, calls,
                  (fd_tensor_call){
                      .in = in, .out = out, .begin = begin, .end = begin + 1});
}

#define CALLS(arena, calls, ids) \
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL}; \
    fd_et_calls calls = {NULL, 0, 0}; \
    fd_et_identities ids = {.tensor_count = 0}; \
    ENTER(&arena)

static const fd_words NONE = {NULL, NULL};

/* relu_(a) -> a; mul(a) -> b; then mul(b) -> a tensor where a was. */
TEST(reused_address)
{
    static const uint64_t a[][WORDS] = {TENSOR(0x10, 0x90)};
    static const uint64_t b[][WORDS] = {TENSOR(0x20, 0xa0)};
    CALLS(arena, calls, ids);
    push(&arena, &calls, words(a, 1), words(a, 1));
    push(&arena, &calls, words(a, 1), words(b, 1));
    push(&arena, &calls, words(b, 1), words(a, 1));
    fd_et_identify(&arena, &calls, &ids);
    EQUAL(ids.tensors.count, 6);
    const uint32_t *t = ids.tensors.list;
    CHECK(t[0] == t[1] && t[1] == t[2]);
    CHECK(t[3] == t[4] && t[3] != t[0]);
    CHECK(t[5] != t[0] && t[5] != t[3]);
    CHECK(ids.storages.list[5] != ids.storages.list[0]);
    EQUAL(ids.tensor_count, 3);
}

/* linear() -> n, in which fill_(n) sees n first: one tensor, and not the one
 * that had the address before. */
TEST(made_within_a_call)
{
    static const uint64_t n[][WORDS] = {TENSOR(0x10, 0x90)};
    CALLS(arena, calls, ids);
    push(&arena, &calls, words(n, 1), NONE);
    push(&arena, &calls, NONE, words(n, 1));
    push(&arena, &calls, words(n, 1), words(n, 1));
    calls.list[1].end = 5;
    calls.list[2].begin = 3;
    calls.list[2].end = 4;
    fd_et_identify(&arena, &calls, &ids);
    const uint32_t *t = ids.tensors.list;
    CHECK(t[1] != t[0]);
    CHECK(t[1] == t[2] && t[2] == t[3]);
}

/* A view shares the storage; another storage makes another tensor. */
TEST(storages)
{
    static const uint64_t a[][WORDS] = {TENSOR(0x10, 0x90)};
    static const uint64_t view[][WORDS] = {TENSOR(0x20, 0x90)};
    static const uint64_t other[][WORDS] = {TENSOR(0x10, 0xb0)};
    static const uint64_t bare[][WORDS] = {TENSOR(0x30, 0)};
    CALLS(arena, calls, ids);
    push(&arena, &calls, words(a, 1), words(view, 1));
    push(&arena, &calls, words(other, 1), words(bare, 1));
    fd_et_identify(&arena, &calls, &ids);
    EQUAL(ids.storages.list[0], ids.storages.list[1]);
    CHECK(ids.tensors.list[0] != ids.tensors.list[2]);
    EQUAL(ids.storages.list[3], 0);
    CHECK(ids.tensors.list[3] != 0);
}
