#include "check.h"

#include "events/stats/copy_table.h"

static void
bytes_and_bandwidths(void)
{
    CLEAN(fd_copies_clear) fd_copies copies = {.rows = {.count = 0}};
    fd_gpu_facts facts = {
        .has_bytes = true, .bytes = 1000, .copy = FD_COPY_HTOD};
    OK(fd_copies_add(&copies, 0, &facts, 500));
    facts.bandwidth = 4000000000; /* as the profiler computed it */
    OK(fd_copies_add(&copies, 0, &facts, 500));
    facts.bandwidth = 0;
    OK(fd_copies_add(&copies, 0, &facts, 0)); /* too short to be timed */
    facts.has_bytes = false;
    facts.bytes = 0;
    OK(fd_copies_add(&copies, 0, &facts, 100));
    facts.copy = FD_COPY_MEMSET;
    OK(fd_copies_add(&copies, 0, &facts, 100));
    OK(fd_copies_add(&copies, 1, &facts, 100));
    EQUAL(copies.rows.count, 3);
    const fd_copy_row *row = &copies.rows.list[0];
    EQUAL(row->bytes, 3000);
    EQUAL(row->unsized, 1);
    EQUAL(row->timed_bytes, 2000);
    EQUAL(row->timed, 1000);
    EQUAL(row->time.total, 1100);
    EQUAL(row->rate.count, 2);
    EQUAL(row->rate.least, 2000000000);
    EQUAL(row->rate.most, 4000000000);
}

RUN(TEST(bytes_and_bandwidths))
