#include "fixtures.h"

#include "gpu/gpu_figures.h"
#include "recording/job_table.h"
#include "recording/open_entries.h"
#include "trace/reader/recording_reader.h"

static void
put(fixture *f, fd_gpu_figures *figures, uint32_t context, uint64_t ns)
{
    fd_gpu_sample sample = {
        .event = {.host = check_clock_now(),
                  .start = check_clock_now() + 10,
                  .ticks = ns,
                  .context = context,
                  .thread = fd_file_id(&f->recording->file, f->main->record),
                  .device = 1,
                  .stream = 2},
        .total = ns,
        .self = ns / 2,
    };
    fd_gpu_figures_add(figures, &sample);
}

/* Figures and lines find their context; those without a context are skipped.
 * */
ABSORBS(figures_and_events)
{
    FIXTURE_TIMELINE(f, .on = true, .max_bytes = 1 << 20);
    CLEAN(fd_gpu_figures_clear) fd_gpu_figures figures;
    fd_gpu_figures_init(&figures, f.recording);
    fixture_work(100);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "aten::mm");
    fd_context *context = fixture_enter_node(f.main, node);
    uint32_t id = fd_tree_id(f.main, context);
    put(&f, &figures, id, 50);
    put(&f, &figures, id, 70);
    put(&f, &figures, 3, 70);
    fixture_work(500);
    fixture_leave(f.main);
    fixture_stop(&f);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_reload_timeline(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    FIELDS(rank, (gpu.count, 1),
           (gpu.list[0].context, fixture_find(trace, "aten::mm")),
           (gpu.list[0].calls, 2), (gpu.list[0].total, 120),
           (gpu.list[0].self, 60), (gpu_events.count, 2),
           (counters[FD_COUNT_GPU_EVENTS_LOST], 1),
           (gpu_events.list[1].host, 100), (gpu_events.list[1].start, 110),
           (gpu_events.list[1].duration, 70), (gpu_events.list[1].stream, 2));
}

/* The job that was open when it was launched has the interval; one launched
 * outside of jobs has none. */
ABSORBS(of_jobs)
{
    FIXTURE_TIMELINE(f, .on = true, .max_bytes = 1 << 20);
    CLEAN(fd_gpu_figures_clear) fd_gpu_figures figures;
    fd_gpu_figures_init(&figures, f.recording);
    uint32_t node = fixture_node(&f, FD_NODE_JOB, "F");
    uint32_t id = 0;
    for (uint32_t i = 1; i <= 3; i++) {
        fixture_work(100);
        fd_tree_tick(f.main, check_clock_now());
        fd_job *job =
            fd_jobs_begin(f.main, &(fd_job){.node = node, .micro_batch = i});
        fd_stack_push_range(f.main, node, job);
        fd_stack_settle_to(f.main, 0);
        id = f.main->stack[0].context;
        if (i != 2) {
            put(&f, &figures, id, 40 + i);
            put(&f, &figures, id, 70);
        }
        fixture_work(50);
        fd_tree_tick(f.main, check_clock_now());
        fd_stack_remove(f.main, 0);
    }
    fixture_work(10);
    put(&f, &figures, id, 99);
    fixture_stop(&f);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_reload_timeline(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    const fd_trace_job *job = rank->jobs.list;
    FIELDS(rank, (jobs.count, 3), (gpu_events.count, 5));
    FIELDS(&job[0], (device, 2), (gpu_start, job[0].start + 10),
           (gpu_duration, 41));
    FIELDS(&job[1], (device, 0), (gpu_duration, 0));
    EQUAL(job[2].gpu_duration, 43);
}
