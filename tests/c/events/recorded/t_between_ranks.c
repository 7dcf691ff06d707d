#include "check.h"
#include "timelines.h"

#include "events/tools/timeline_merge.h"
#include "recording/job_table.h"
#include "recording/open_entries.h"

/* A job of 10 ns of work, and 10 ns behind it. */
static void
work(fixture *f, const char *kind, uint32_t micro_batch, uint32_t stage,
     uint32_t peer)
{
    fd_job what = {.node = fixture_node(f, FD_NODE_JOB, kind),
                   .micro_batch = micro_batch + 1,
                   .stage = stage + 1,
                   .peer = peer + 1};
    fd_job *job = fd_jobs_begin(f->main, &what);
    fd_stack_push_range(f->main, what.node, job);
    fixture_work(10);
    fd_stack_settle_to(f->main, 0);
    fd_tree_tick(f->main, check_clock_now());
    fd_stack_remove(f->main, 0);
    fixture_work(10);
}

/* Stage 1 receives from stage 0, 100 ns later, and sends on. Stage 0 has one send
 * without a receive. Stage 2 is in the rank of stage 1, and receives in a step
 * that does not end. */
static void
perform(fixture *f, uint32_t rank)
{
    if (rank == 0) {
        work(f, "SA", 0, 0, 1);
        work(f, "SA", 1, 0, 1);
    }
    else {
        work(f, "RA", 0, 1, 0);
        work(f, "SA", 0, 1, 2);
    }
    fd_steps_end(&f->steps, f->main, FD_STEPS_ENGINE);
    if (rank == 1) {
        work(f, "RA", 0, 2, 1);
    }
}

static fd_status
record(const char *path, uint32_t rank)
{
    fixture f = {.recording = NULL};
    fd_status status = fixture_open_timeline(&f, &(fd_timeline){.on = true});
    if (status == FD_OK) {
        fd_header *header = fd_file_header(&f.recording->file);
        header->rank = rank;
        header->world = 2;
        header->boot_id[0] = 7;
        header->start.boottime_ns = 5000 + 100 * rank;
        perform(&f, rank);
        status =
            fixture_write(path, f.recording->file.base, fixture_bytes(&f));
    }
    fixture_clear(&f);
    return status;
}

static fd_status
merge(int64_t end_ns, uint32_t first, fd_buffer *to)
{
    fd_timeline_request request = {.output = "merged.json"};
    fd_timeline_input inputs[2] = {FILE_INPUT("rank00000.fd", 0),
                                   FILE_INPUT("rank00001.fd", 1)};
    for (int i = 0; i < 2; i++) {
        inputs[i].recording = true;
        inputs[i].end_ns = end_ns;
        inputs[i].clock.map.offset_ns = 100 * i;
    }
    fd_status status = record("rank00000.fd", 0);
    status = status == FD_OK ? record("rank00001.fd", 1) : status;
    if (status == FD_OK) {
        status = fd_timeline_merge(&request, inputs + first, 2 - first, NULL);
    }
    if (status == FD_OK) {
        status = fixture_read("merged.json", to);
    }
    fd_buffer_bytes(to, "", 1);
    return status == FD_OK ? to->status : status;
}

/* Ids are at the place behind both inputs: 3 * id + 2. Times of both count
 * from the start of rank 0. */
static void
from_rank_to_rank(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(merge(INT64_MAX, 0, &to));
    EQUAL(check_count(to.bytes, "\"bind_id\""), 4);
    EQUAL(check_count(to.bytes,
                      "\"bind_id\":\"0x240000002\",\"flow_out\":true,"
                      "\"name\":\"SA mb0"),
          1);
    EQUAL(check_count(to.bytes, "\"ts\":0.109,\"dur\":0.000,\"bind_id\":"
                                "\"0x240000002\",\"flow_in\":true"),
          1);
    EQUAL(check_count(to.bytes, "\"bind_id\":\"0x540000005\""), 2);
}

static void
only_merged_ranks(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer step = {.bytes = NULL};
    OK(merge(INT64_MAX, 1, &to));
    EQUAL(check_count(to.bytes, "\"bind_id\""), 2); /* within the rank */
    OK(merge(40, 0, &step));                        /* the end of step 0 */
    EQUAL(check_count(step.bytes, "\"bind_id\""), 2);
}

RUN(TEST(from_rank_to_rank), TEST(only_merged_ranks))
