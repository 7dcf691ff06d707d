#include "check.h"
#include "fixtures.h"

#include "recording/job_table.h"
#include "recording/open_entries.h"
#include "trace/canonical_order.h"
#include "trace/reader/recording_reader.h"
#include "trace/trace_merge.h"

/* train │ forward mb3 (10 .. 30), receive (30 ..), still open at 40. */
static void
perform(fixture *f)
{
    uint32_t forward = fixture_node(f, FD_NODE_JOB, "forward");
    uint32_t receive = fixture_node(f, FD_NODE_JOB, "receive");
    fixture_enter_node(f->main, fixture_function(f, "train", 0));
    fixture_work(10);
    fd_tree_tick(f->main, check_clock_now());
    fd_job *job = fd_jobs_begin(f->main, &(fd_job){.node = forward,
                                                   .micro_batch = 4,
                                                   .stage = 1,
                                                   .buffer = 3,
                                                   .iteration = 6,
                                                   .bytes = 4096,
                                                   .flags = FD_JOB_ATTACHED,
                                                   .step = 7});
    fd_stack_push_range(f->main, forward, job);
    fd_stack_settle_to(f->main, 1);
    fixture_call(f->main, fixture_function(f, "f", 0), 20);
    fd_stack_remove(f->main, 1);
    job = fd_jobs_begin(f->main, &(fd_job){.node = receive, .peer = 1});
    fd_stack_push_range(f->main, receive, job);
    fixture_work(10);
    fd_tree_tick(f->main, check_clock_now());
}

static fd_status
recorded(fixture *f, bool timeline, fd_trace **trace)
{
    fd_status status = fixture_open_timeline(f, &(fd_timeline){.on = true});
    if (status == FD_OK) {
        perform(f);
        status = fd_reader_read_memory(trace, f->recording->file.base,
                                       fixture_bytes(f), timeline, NULL);
    }
    return status;
}

ABSORBS(merged_as_they_are)
{
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    NEW_TRACE(merged);
    uint32_t other;
    OK(fixture_text(merged, "aaa", &other));
    OK(recorded(&f, true, &trace));
    OK(fixture_merge(merged, trace, "rank", NULL));
    OK(fd_trace_sort(merged));
    const fd_trace_rank *rank = &merged->ranks.list[0];
    EQUAL(rank->jobs.count, 2);
    SAME(fd_trace_text(merged, rank->jobs.list[0].kind), "forward");
    EQUAL(rank->jobs.list[0].context, fixture_find(merged, "forward"));
    EQUAL(rank->events.list[1].context, 0);
}

/* A job with an invalid node is skipped, and its line is lost. */
ABSORBS(damaged_jobs_are_skipped)
{
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    CLEAN(fixture_trace_free) fd_trace *whole = NULL;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(recorded(&f, true, &whole));
    fd_job *jobs = fd_chunk_records(f.main->jobs.chunk);
    jobs[0].node = 12345;
    jobs[1].thread = 12345;
    OK(fixture_reload_timeline(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    FIELDS(rank, (jobs.count, 0), (events.count, 2),
           (threads.list[0].events_lost, 1));
}

/* The k-th job of a kind in interleaved 1F1B: micro-batch, stage and chunk, all
 * plus 1. */
typedef struct numbered {
    const char *kind;
    uint32_t k;
    uint32_t micro_batch;
    uint32_t stage;
    uint32_t chunk;
} numbered;

static void
add_job(fixture *f, const char *kind, const fd_job *about)
{
    fd_job made = *about;
    made.node = fixture_node(f, FD_NODE_JOB, kind);
    fixture_work(1);
    fd_tree_tick(f->main, check_clock_now());
    fd_jobs_begin(f->main, &made);
}

ABSORBS(jobs_of_megatron_get_numbers)
{
    /* The first of 2 processes with 2 chunks: stages 0 and 2. */
    static const numbered expected[] = {
        {"F", 0, 1, 1, 1},  {"F", 2, 1, 3, 2},  {"F", 5, 4, 1, 1},
        {"B", 0, 1, 3, 2},  {"B", 2, 1, 1, 1},  {"SA", 1, 2, 1, 1},
        {"SA", 2, 1, 3, 2}, {"RA", 0, 1, 3, 2}, {"RA", 2, 3, 3, 2},
        {"RA", 4, 1, 0, 0}, {"SG", 1, 2, 3, 2}, {"RG", 7, 4, 1, 1},
        {"F", 8, 1, 0, 0},  {"LM", 1, 2, 0, 0},
    };
    static const char schedule[] =
        "forward_backward_pipelining_with_interleaving";
    enum { COUNT = sizeof expected / sizeof *expected };
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_open_timeline(&f, &(fd_timeline){.on = true}));
    uint32_t name =
        fd_strings_add(&f.recording->strings, schedule, sizeof schedule - 1);
    add_job(&f, "ITER",
            &(fd_job){.schedule = name,
                      .iteration_flags = FD_ITERATION_KNOWN,
                      .micro_batches = 5,
                      .stages = 5,
                      .processes = 3,
                      .position = 1});
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t k = expected[i].k;
        add_job(&f, expected[i].kind,
                &(fd_job){.ordinal = k + 1, .micro_batch = k + 1});
    }
    OK(fixture_reload(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    FIELDS(rank, (jobs.count, COUNT + 1), (iterations.count, 1));
    for (uint32_t i = 0; i < COUNT; i++) {
        const fd_trace_job *job = &rank->jobs.list[i + 1];
        SAME(fd_trace_text(trace, job->kind), expected[i].kind);
        FIELDS(job, (micro_batch, expected[i].micro_batch),
               (stage, expected[i].stage), (chunk, expected[i].chunk));
    }
    EQUAL(rank->jobs.list[6].peer, 2); /* SA of stage 0, plus 1 */
}
