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

static fd_status
push(fd_et_calls *calls, fd_words in, fd_words out, uint32_t begin,
     uint32_t end)
{
    return fd_vector_push(
        calls,
        (fd_tensor_call){.in = in, .out = out, .begin = begin, .end = end});
}

static void
clear_calls(fd_et_calls *calls)
{
    fd_vector_clear(calls);
}

static const fd_words NONE = {NULL, NULL};

/* relu_(a) -> a; mul(a) -> b; then mul(b) -> a tensor where a was. */
static void
reused_address(void)
{
    static const uint64_t a[][WORDS] = {TENSOR(0x10, 0x90)};
    static const uint64_t b[][WORDS] = {TENSOR(0x20, 0xa0)};
    CLEAN(clear_calls) fd_et_calls calls = {NULL, 0, 0};
    CLEAN(fd_et_identities_clear) fd_et_identities ids = {.tensor_count = 0};
    OK(push(&calls, words(a, 1), words(a, 1), 0, 1));
    OK(push(&calls, words(a, 1), words(b, 1), 2, 3));
    OK(push(&calls, words(b, 1), words(a, 1), 4, 5));
    OK(fd_et_identify(&calls, &ids));
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
static void
made_within_a_call(void)
{
    static const uint64_t n[][WORDS] = {TENSOR(0x10, 0x90)};
    CLEAN(clear_calls) fd_et_calls calls = {NULL, 0, 0};
    CLEAN(fd_et_identities_clear) fd_et_identities ids = {.tensor_count = 0};
    OK(push(&calls, words(n, 1), NONE, 0, 1));
    OK(push(&calls, NONE, words(n, 1), 2, 5));
    OK(push(&calls, words(n, 1), words(n, 1), 3, 4));
    OK(fd_et_identify(&calls, &ids));
    const uint32_t *t = ids.tensors.list;
    CHECK(t[1] != t[0]);
    CHECK(t[1] == t[2] && t[2] == t[3]);
}

/* A view shares the storage; another storage makes another tensor. */
static void
storages(void)
{
    static const uint64_t a[][WORDS] = {TENSOR(0x10, 0x90)};
    static const uint64_t view[][WORDS] = {TENSOR(0x20, 0x90)};
    static const uint64_t other[][WORDS] = {TENSOR(0x10, 0xb0)};
    static const uint64_t bare[][WORDS] = {TENSOR(0x30, 0)};
    CLEAN(clear_calls) fd_et_calls calls = {NULL, 0, 0};
    CLEAN(fd_et_identities_clear) fd_et_identities ids = {.tensor_count = 0};
    OK(push(&calls, words(a, 1), words(view, 1), 0, 1));
    OK(push(&calls, words(other, 1), words(bare, 1), 2, 3));
    OK(fd_et_identify(&calls, &ids));
    EQUAL(ids.storages.list[0], ids.storages.list[1]);
    CHECK(ids.tensors.list[0] != ids.tensors.list[2]);
    EQUAL(ids.storages.list[3], 0);
    CHECK(ids.tensors.list[3] != 0);
}

RUN(TEST(reused_address), TEST(made_within_a_call), TEST(storages))
