#include "check.h"
#include "fixtures.h"

#include "recording/has_calls.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int
answer(const char *path)
{
    int fd = open(path, O_RDONLY);
    bool called = fd_has_call(fd);
    if (fd >= 0) {
        close(fd);
    }
    return called;
}

/* The root of a thread is not a call: it always exists. */
static void
one_call_is_enough(void)
{
    CLEAN(fixture_clear) fixture f;
    OK(fixture_open(&f, "none.fd", 4));
    f.main->root->calls = 1;
    EQUAL(answer("none.fd"), false);
    fd_context *context =
        fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    EQUAL(answer("none.fd"), true);
    context->calls = 0;
    EQUAL(answer("none.fd"), false);
    context->resumes = 1;
    EQUAL(answer("none.fd"), true);
}

/* Only in another block of contexts than the first. */
static void
in_a_later_block(void)
{
    CLEAN(fixture_clear) fixture f;
    OK(fixture_open(&f, "later.fd", 4));
    fd_context *last = NULL;
    for (int i = 0; i < 300; i++) {
        char name[] = "op_000";
        name[3] = (char)('0' + i / 100);
        name[4] = (char)('0' + i / 10 % 10);
        name[5] = (char)('0' + i % 10);
        fd_callee callee = {fixture_node(&f, FD_NODE_OP, name), 0, 0};
        last = fd_tree_child(f.main, f.main->root, &callee);
    }
    EQUAL(answer("later.fd"), false);
    last->calls = 1;
    EQUAL(answer("later.fd"), true);
}

static void
damaged_files_end(void)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(fixture_recorded("whole.fd", 0, NULL));
    EQUAL(answer("whole.fd"), true);
    OK(fixture_read("whole.fd", &bytes));
    OK(fixture_write("cut.fd", bytes.bytes, FD_PAGE + 10));
    EQUAL(answer("cut.fd"), false);
    for (size_t at = FD_PAGE; at + sizeof(fd_chunk) <= bytes.size;
         at += FD_PAGE) {
        fd_chunk *chunk = (fd_chunk *)(bytes.bytes + at);
        chunk->bytes = at % (2 * FD_PAGE) == 0 ? 0 : UINT64_MAX;
    }
    OK(fixture_write("wild.fd", bytes.bytes, bytes.size));
    EQUAL(answer("wild.fd"), false);
    EQUAL(answer("absent.fd"), true);
}

RUN(ABSORBS(one_call_is_enough), ABSORBS(in_a_later_block),
    TEST(damaged_files_end))
