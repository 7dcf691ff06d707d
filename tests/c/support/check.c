#include "check.h"

#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Runs with a refused allocation per test and mode; tests with more
 * allocations are sampled, which is reported. */
enum { MOST_RUNS = 100 };

typedef struct check_state {
    const check_test *test;
    bool failed;
    _Atomic long calls; /* allocations so far in this run */
    long refuse;        /* number of the one to refuse, from 1; 0: none */
    bool refuse_rest;   /* and all after it */
    _Atomic bool refused;
    uint64_t clock;
} check_state;

static check_state state;
static check_test *all; /* by line */

void
check_add(check_test *test)
{
    check_test **at = &all;
    while (*at != NULL && (*at)->line <= test->line) {
        at = &(*at)->next;
    }
    test->next = *at;
    *at = test;
}

size_t
check_count(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        count++;
    }
    return count;
}

void
check_close(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}

/* The linker redirects allocations and clock_gettime of all other files to
 * this one (--wrap). */
void *__real_fd_malloc(size_t size);
void *__real_fd_calloc(size_t count, size_t size);
void *__real_fd_realloc(void *block, size_t size);
void __real_fd_free(void *block);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
void *__wrap_fd_malloc(size_t size);
void *__wrap_fd_calloc(size_t count, size_t size);
void *__wrap_fd_realloc(void *block, size_t size);
void __wrap_fd_free(void *block);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static bool
refuses(void)
{
    long call = ++state.calls;
    bool hit = state.refuse > 0
            && (call == state.refuse
                || (state.refuse_rest && call > state.refuse));
    if (hit) {
        state.refused = true;
    }
    return hit;
}

/* Bytes of all blocks. */
static atomic_size_t in_use;

static void *
counted(void *block)
{
    in_use += block != NULL ? malloc_usable_size(block) : 0;
    return block;
}

void *
__wrap_fd_malloc(size_t size)
{
    return refuses() ? NULL : counted(__real_fd_malloc(size));
}

void *
__wrap_fd_calloc(size_t count, size_t size)
{
    return refuses() ? NULL : counted(__real_fd_calloc(count, size));
}

void *
__wrap_fd_realloc(void *block, size_t size)
{
    size_t before = malloc_usable_size(block);
    void *grown = refuses() ? NULL : __real_fd_realloc(block, size);
    in_use -= grown != NULL ? before : 0;
    return counted(grown);
}

void
__wrap_fd_free(void *block)
{
    in_use -= malloc_usable_size(block);
    __real_fd_free(block);
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (state.clock == 0) {
        return __real_clock_gettime(clock, now);
    }
    now->tv_sec = (time_t)(state.clock / 1000000000);
    now->tv_nsec = (long)(state.clock % 1000000000);
    return 0;
}

void
check_clock(uint64_t ns)
{
    state.clock = ns;
}

uint64_t
check_clock_now(void)
{
    return state.clock;
}

bool
check_refused(void)
{
    return state.refused;
}

static void
fail(const char *file, int line)
{
    state.failed = true;
    fprintf(stderr, "%s:%d: %s: ", file, line, state.test->name);
    if (state.refuse > 0) {
        fprintf(stderr, "(allocation %ld refused%s) ", state.refuse,
                state.refuse_rest ? ", and all later ones" : "");
    }
}

/* A check that a lost allocation may fail. */
static bool
excused(void)
{
    return state.refused && state.test->absorbs;
}

bool
check_true(bool held, const char *what, const char *file, int line)
{
    if (!held && !excused()) {
        fail(file, line);
        fprintf(stderr, "%s does not hold\n", what);
    }
    return held;
}

bool
check_equal(int64_t got, int64_t expected, const char *what, const char *file,
            int line)
{
    if (got != expected && !excused()) {
        fail(file, line);
        fprintf(stderr, "%s is %lld, not %lld\n", what, (long long)got,
                (long long)expected);
    }
    return got == expected;
}

bool
check_same(const char *got, const char *expected, const char *what,
           const char *file, int line)
{
    bool same = got != NULL && strcmp(got, expected) == 0;
    if (!same && !excused()) {
        fail(file, line);
        fprintf(stderr, "%s is \"%s\", not \"%s\"\n", what,
                got != NULL ? got : "(null)", expected);
    }
    return same;
}

bool
check_has(const char *text, const char *part, const char *what,
          const char *file, int line)
{
    bool has = text != NULL && strstr(text, part) != NULL;
    if (!has && !excused()) {
        fail(file, line);
        fprintf(stderr, "%s does not contain \"%s\": %s\n", what, part,
                text != NULL ? text : "(null)");
    }
    return has;
}

bool
check_status(fd_status got, fd_status expected, const char *what,
             const char *file, int line)
{
    bool lost = state.refused && (got == FD_ENOMEM || excused());
    if (got != expected && !lost) {
        fail(file, line);
        fprintf(stderr, "%s is \"%s\", not \"%s\"\n", what,
                fd_status_name(got), fd_status_name(expected));
    }
    return got == expected;
}

static void
run_once(const check_test *test, long refuse, bool refuse_rest)
{
    size_t before = in_use;
    bool failed = state.failed;
    state = (check_state){
        .test = test, .refuse = refuse, .refuse_rest = refuse_rest};
    test->run();
    state.refuse = 0;
    size_t after = in_use;
    if (after != before) {
        state.refuse = refuse;
        fail("leak", 0);
        fprintf(stderr, "%zu bytes were not freed\n", after - before);
    }
    state.failed = state.failed || failed;
}

/* Returns the number of runs. */
static long
run_refusing(const check_test *test)
{
    run_once(test, 0, false);
    long calls = state.calls;
    long stride = (calls + MOST_RUNS - 1) / MOST_RUNS;
    long runs = 0;
    for (long at = 1; at <= calls && !state.failed; at += stride) {
        run_once(test, at, false);
        run_once(test, at, true);
        runs += 2;
    }
    if (stride > 1) {
        printf("  %s: %ld allocations, one in %ld was refused\n", test->name,
               calls, stride);
    }
    return runs;
}

int
check_run(int argc, char **argv)
{
    bool failing = argc > 1 && strcmp(argv[1], "--fail") == 0;
    const char *name = strrchr(argv[0], '/');
    bool failed = false;
    long runs = 0;
    int count = 0;
    for (const check_test *test = all; test != NULL; test = test->next) {
        state.failed = false;
        count++;
        if (failing && !test->once) {
            runs += run_refusing(test);
        }
        else if (!failing) {
            run_once(test, 0, false);
        }
        failed = failed || state.failed;
    }
    printf("%-20s %d tests%s", name != NULL ? name + 1 : argv[0], count,
           failed ? ", FAILED" : "");
    if (failing) {
        printf(", %ld runs with a refused allocation", runs);
    }
    printf("\n");
    return failed || count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
