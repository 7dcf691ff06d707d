#include "check.h"
#include "fixtures.h"

#include "recording/job_table.h"
#include "recording/open_entries.h"

/* As capture/engines/engine_jobs.c does it. */
static fd_job *
begin(fixture *f, const char *kind, uint32_t micro_batch)
{
    fd_job what = {.node = fixture_node(f, FD_NODE_JOB, kind),
                   .micro_batch = micro_batch,
                   .object = micro_batch};
    fd_job *job = fd_jobs_begin(f->main, &what);
    fd_stack_push_range(f->main, what.node,
                        job != NULL ? (const void *)job : f);
    return job;
}

static void
end(fixture *f, int64_t at)
{
    fd_stack_settle_to(f->main, (uint32_t)at);
    fd_tree_tick(f->main, check_clock_now());
    fd_stack_remove(f->main, (uint32_t)at);
}

static const fd_event *
line(const fixture *f, uint32_t at)
{
    const fd_event *list = fd_chunk_records(f->main->events.chunk);
    return &list[at];
}

ABSORBS(a_record_from_its_beginning)
{
    FIXTURE_TIMELINE(f, .on = true);
    const fd_job *job = begin(&f, "forward", 4);
    CHECK(job != NULL);
    EQUAL(job->flags, FD_JOB_OPEN);
    fixture_work(5);
    EQUAL(fd_jobs_find(f.main, (const void *)(uintptr_t)4), 0);
    EQUAL(fd_jobs_find(f.main, (const void *)(uintptr_t)3), -1);
    end(&f, 0);
    FIELDS(job, (flags, 0), (ticks, 5));
    EQUAL(fd_tree_context(f.main, job->context)->node, job->node);
    EQUAL(f.main->record->events, 1);
    FIELDS(line(&f, 0), (kind, FD_EVENT_JOB),
           (context, fd_file_id(&f.recording->file, job)), (ticks, 5));
}

ABSORBS(short_ones_have_a_record_and_no_line)
{
    FIXTURE_TIMELINE(f, .on = true, .shortest = {[FD_TIMELINE_JOBS] = 6});
    const fd_job *job = begin(&f, "send", 1);
    fixture_work(5);
    end(&f, 0);
    EQUAL(job->ticks, 5);
    EQUAL(f.main->record->events, 0);
}

ABSORBS(without_jobs_in_the_timeline_a_range)
{
    FIXTURE_TIMELINE(f, .on = true,
                     .shortest = {[FD_TIMELINE_JOBS] = UINT64_MAX});
    CHECK(begin(&f, "send", 1) == NULL);
    end(&f, 0);
    EQUAL(f.main->record->events, 0);
    EQUAL(fd_file_header(&f.recording->file)->counters[FD_COUNT_JOBS_FULL], 0);
    CHECK(f.main->jobs.chunk == NULL);
}

ABSORBS(overflow_is_counted)
{
    FIXTURE_TIMELINE(f, .on = true);
    f.recording->limits.max_jobs = 4 * 1024;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < 40; i++) {
        kept += begin(&f, "send", i + 1) != NULL;
        end(&f, 0);
    }
    EQUAL(kept, (4 * 1024 - sizeof(fd_chunk)) / sizeof(fd_job));
    EQUAL(fd_file_header(&f.recording->file)->counters[FD_COUNT_JOBS_FULL],
          40 - kept);
    EQUAL(f.main->record->events, kept);
}
