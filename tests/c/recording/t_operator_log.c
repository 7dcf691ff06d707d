#include "check.h"
#include "fixtures.h"

#include "recording/operator_log.h"

static fd_op_call *
begin(fixture *f, uintptr_t record, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        (void)fd_vector_push(&f->main->ops.words, i + 1);
    }
    fixture_work(1);
    fd_op_call what = {.start = check_clock_now(), .sequence = -1};
    return fd_op_calls_begin(f->main, &what, (const void *)record, 1);
}

static void
end(fixture *f, uintptr_t record)
{
    fixture_work(1);
    fd_op_calls_end(f->main, (const void *)record, check_clock_now());
}

static uint64_t
counted(const fixture *f)
{
    return fd_file_header(&f->recording->file)
        ->counters[FD_COUNT_OP_CALLS_FULL];
}

ABSORBS(calls_nest)
{
    FIXTURE(f, NULL, 4);
    const fd_file *file = &f.recording->file;
    const fd_op_call *outer = begin(&f, 1, 3);
    const fd_op_call *inner = begin(&f, 2, 0);
    EQUAL(inner->parent, fd_file_id(file, outer));
    EQUAL(outer->input_words, 3);
    EQUAL(inner->inputs, 0);
    const uint64_t *words = (const void *)(file->base + outer->inputs);
    EQUAL(words[2], 3);
    EQUAL(inner->flags, FD_OP_CALL_OPEN);
    end(&f, 2);
    FIELDS(inner, (flags, 0), (ticks, 1));
    OK(fd_vector_push(&f.main->ops.words, 7));
    end(&f, 1);
    FIELDS(outer, (ticks, 3), (output_words, 1));
    EQUAL(begin(&f, 3, 0)->parent, 0);
}

ABSORBS(unseen_ends)
{
    FIXTURE(f, NULL, 4);
    const fd_op_call *outer = begin(&f, 1, 0);
    const fd_op_call *lost = begin(&f, 2, 0);
    end(&f, 9); /* of no call */
    end(&f, 1);
    EQUAL(outer->flags, 0);
    EQUAL(lost->flags, FD_OP_CALL_OPEN);
    begin(&f, 3, 0);
    fd_op_call what = {.sequence = -1};
    const fd_op_call *later = fd_op_calls_begin(f.main, &what, &f, 2);
    EQUAL(later->parent, 0); /* another window */
}

ABSORBS(asynchronous_calls_enclose_nothing)
{
    FIXTURE(f, NULL, 4);
    fd_op_call what = {.start = check_clock_now(), .flags = FD_OP_CALL_ASYNC};
    fd_op_call *work = fd_op_calls_begin(f.main, &what, &what, 1);
    EQUAL(begin(&f, 1, 0)->parent, 0);
    fd_op_call_close(work, check_clock_now());
    FIELDS(work, (flags, FD_OP_CALL_ASYNC), (ticks, 1));
}

ABSORBS(overflow_is_counted)
{
    FIXTURE(f, NULL, 4);
    f.recording->limits.max_op_calls = 16 * 1024;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < 200; i++) {
        kept += begin(&f, 1, 0) != NULL;
        end(&f, 1);
    }
    EQUAL(kept, (16 * 1024 - sizeof(fd_chunk)) / sizeof(fd_op_call));
    EQUAL(counted(&f), 200 - kept);
    CHECK(begin(&f, 1, 5) == NULL); /* its inputs, and itself */
    EQUAL(counted(&f), 202 - kept);
}
