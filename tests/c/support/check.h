/* Test macros. A test is a function without arguments; objects that it owns
 * are declared with CLEAN, so that a failing check can return without a leak.
 *
 *     TEST(grows)
 *     {
 *         CLEAN(fd_map_clear) fd_map map = {.entries = NULL};
 *         OK(fd_map_put(&map, 7, 1));
 *         EQUAL(fd_map_get(&map, 7), 1);
 *     }
 *
 * The program runs its tests once, in the order of the file. With --fail it
 * repeats each one with the 1st, 2nd, 3rd ... allocation refused: only that
 * one, then also all later ones. A test may then end early with FD_ENOMEM; it
 * must not crash, leak, or continue with a wrong result. Tests of the
 * recording itself are defined by ABSORBS: there a failed allocation loses a
 * name or a path and the call continues, so later checks may fail. Tests
 * defined by ONCE are not repeated: the order of allocations of their threads
 * is not deterministic.
 */
#ifndef CHECK_H
#define CHECK_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct check_test {
    const char *name;
    void (*run)(void);
    bool absorbs;
    bool once;
    int line;
    struct check_test *next;
} check_test;

void check_add(check_test *test);
int check_run(int argc, char **argv);

#define CHECK_TEST(test, absorbs, once) \
    static void test(void); \
    __attribute__((constructor)) static void test##_add(void) \
    { \
        static check_test added = { \
            #test, test, absorbs, once, __LINE__, NULL}; \
        check_add(&added); \
    } \
    static void test(void)
#define TEST(test) CHECK_TEST(test, false, false)
#define ABSORBS(test) CHECK_TEST(test, true, false)
#define ONCE(test) CHECK_TEST(test, false, true)

/* How often the text contains the part. */
size_t check_count(const char *text, const char *part);

/* Close a file descriptor that is not -1. */
void check_close(int *fd);

#define CLEAN(function) __attribute__((cleanup(function)))

/* Each returns from the test if it fails. */
#define CHECK(condition) \
    do { \
        if (!check_true((condition), #condition, __FILE__, __LINE__)) { \
            return; \
        } \
    } while (0)
#define EQUAL(got, expected) \
    do { \
        if (!check_equal((int64_t)(got), (int64_t)(expected), #got, __FILE__, \
                         __LINE__)) { \
            return; \
        } \
    } while (0)
/* Compare fields of a struct: FIELDS(step, (number, 3), (begin, 100)). */
#define FIELDS(row, ...) \
    do { \
        FIELDS_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ) \
        (row, __VA_ARGS__) \
    } while (0)
#define FIELDS_OF(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) FIELD_##count
#define FIELD_1(row, pair) FIELD_UNPACKED(row, FIELD_PAIR pair)
#define FIELD_2(row, pair, ...) FIELD_1(row, pair) FIELD_1(row, __VA_ARGS__)
#define FIELD_3(row, pair, ...) FIELD_1(row, pair) FIELD_2(row, __VA_ARGS__)
#define FIELD_4(row, pair, ...) FIELD_1(row, pair) FIELD_3(row, __VA_ARGS__)
#define FIELD_5(row, pair, ...) FIELD_1(row, pair) FIELD_4(row, __VA_ARGS__)
#define FIELD_6(row, pair, ...) FIELD_1(row, pair) FIELD_5(row, __VA_ARGS__)
#define FIELD_7(row, pair, ...) FIELD_1(row, pair) FIELD_6(row, __VA_ARGS__)
#define FIELD_8(row, pair, ...) FIELD_1(row, pair) FIELD_7(row, __VA_ARGS__)
#define FIELD_9(row, pair, ...) FIELD_1(row, pair) FIELD_8(row, __VA_ARGS__)
#define FIELD_10(row, pair, ...) FIELD_1(row, pair) FIELD_9(row, __VA_ARGS__)
#define FIELD_11(row, pair, ...) FIELD_1(row, pair) FIELD_10(row, __VA_ARGS__)
#define FIELD_12(row, pair, ...) FIELD_1(row, pair) FIELD_11(row, __VA_ARGS__)
#define FIELD_PAIR(field, expected) field, expected
#define FIELD_UNPACKED(...) FIELD_EQUAL(__VA_ARGS__)
#define FIELD_EQUAL(row, field, expected) EQUAL((row)->field, expected);
#define SAME(got, expected) \
    do { \
        if (!check_same((got), (expected), #got, __FILE__, __LINE__)) { \
            return; \
        } \
    } while (0)
/* Whether the text contains `part`. */
#define HAS(text, part) \
    do { \
        if (!check_has((text), (part), #text, __FILE__, __LINE__)) { \
            return; \
        } \
    } while (0)
/* Append a NUL to a buffer, and compare its text. */
#define WRITTEN(buffer, expected) \
    do { \
        fd_buffer *written_ = (buffer); \
        fd_buffer_bytes(written_, "", 1); \
        OK(written_->status); \
        SAME(written_->bytes, (expected)); \
    } while (0)
#define STATUS(call, expected) \
    do { \
        if (!check_status((call), (expected), #call, __FILE__, __LINE__)) { \
            return; \
        } \
    } while (0)
#define OK(call) STATUS(call, FD_OK)
/* Whether an allocation succeeded; a refused one ends the test. */
#define ALLOCATED(condition) OK((condition) ? FD_OK : FD_ENOMEM)
/* Declare an empty arena. */
#define ARENA(arena) CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL}
/* Begin a request (base/arena.h), of which a failure ends the test. */
#define ENTER(arena) \
    do { \
        if (fd_arena_caught((arena), NULL)) { \
            OK((arena)->status); \
        } \
    } while (0)

bool check_true(bool held, const char *what, const char *file, int line);
bool check_equal(int64_t got, int64_t expected, const char *what,
                 const char *file, int line);
bool check_same(const char *got, const char *expected, const char *what,
                const char *file, int line);
bool check_has(const char *text, const char *part, const char *what,
               const char *file, int line);
bool check_status(fd_status got, fd_status expected, const char *what,
                  const char *file, int line);

/* Whether an allocation was refused in this run of the test. */
bool check_refused(void);

/* Stop CLOCK_MONOTONIC and the other clocks at `ns`; 0: use the real ones,
 * with which every test starts. */
void check_clock(uint64_t ns);
uint64_t check_clock_now(void);

#endif
