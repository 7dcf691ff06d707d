#include "recording/gpu_format.h"
#include "trace/reader/recording_reading.h"

static void
add_record(fd_gpu_figure *sum, const fd_gpu_record *record)
{
    sum->calls += record->calls;
    sum->total += record->total;
    sum->self += record->self;
    sum->starved += record->starved;
    sum->launch_bound += record->launch_bound;
}

/* Read the figures. Threads of one role share contexts of the trace, so their
 * figures are added up. */
static void
read_figures(fd_reading *r)
{
    uint32_t count = r->trace->contexts.count;
    fd_gpu_figure *sums = NULL;
    FOR_EACH_RECORD (r, FD_CHUNK_GPU, fd_gpu_record, record) {
        sums =
            sums != NULL ? sums : fd_arena_new(&r->arena, count, sizeof *sums);
        add_record(&sums[fd_reading_context(r, record->context)], record);
    }
    for (uint32_t i = 1; sums != NULL && i < count; i++) {
        sums[i].context = i;
        if (sums[i].calls > 0 || sums[i].starved > 0) {
            fd_reading_push(r, &r->rank->gpu, sums[i]);
        }
    }
}

/* Return the index of a thread's record; 0, the first, if it is unknown. */
static uint16_t
thread_of(const fd_reading *r, uint32_t id)
{
    uint32_t thread = 0;
    FOR_EACH_RECORD (r, FD_CHUNK_THREADS, fd_thread_record, record) {
        if (fd_reading_id(r, record) == id && thread < UINT16_MAX) {
            return (uint16_t)thread;
        }
        thread++;
    }
    return 0;
}

/* Add an event, of which the times and the launching thread are given. */
static void
add_event(fd_reading *r, fd_trace_gpu_event made, uint64_t start,
          uint64_t ticks, uint32_t thread)
{
    fd_reading_span(r, start, ticks, &made.start, &made.duration);
    made.thread = thread_of(r, thread);
    if (made.context == 0 || made.thread >= r->rank->threads.count) {
        r->rank->counters[FD_COUNT_GPU_EVENTS_LOST]++;
        return;
    }
    fd_reading_push(r, &r->rank->gpu_events, made);
}

static void
read_interval(fd_reading *r, const fd_gpu_event *event)
{
    uint32_t context = fd_reading_context(r, event->context);
    fd_trace_gpu_event made = {
        .host = fd_reading_since_start(r, event->host),
        .context = context,
        .launcher = context,
        .device = event->device,
        .stream = event->stream,
    };
    add_event(r, made, event->start, event->ticks,
              event->thread != 0
                  ? event->thread
                  : r->owners.list[fd_reading_raw(r, event->context)]);
}

static void
read_kernel(fd_reading *r, const fd_kernel_event *event)
{
    fd_trace_gpu_event made = {
        .bytes = event->bytes,
        .context = fd_reading_kernel(r, event->context, event->name),
        .launcher = fd_reading_context(r, event->launcher),
        .correlation = event->correlation,
        .function = event->function,
        .device = event->device,
        .stream = event->stream,
    };
    fd_reading_span(r, event->host, event->call_ticks, &made.host, &made.call);
    add_event(r, made, event->start, event->ticks,
              r->owners.list[fd_reading_raw(r, event->launcher)]);
}

static void
read_run(fd_reading *r, const fd_chunk_view *one, uint32_t kind)
{
    const void *records;
    fd_arena_check(&r->arena, fd_chunks_events(&r->file, one, &records));
    if (records == NULL) {
        r->rank->counters[FD_COUNT_GPU_EVENTS_LOST] += one->used;
        return;
    }
    for (uint32_t i = 0; i < one->used; i++) {
        if (kind == FD_CHUNK_GPU_EVENTS) {
            read_interval(r, (const fd_gpu_event *)records + i);
        }
        else {
            read_kernel(r, (const fd_kernel_event *)records + i);
        }
    }
}

void
fd_read_gpu_events(fd_reading *r, uint32_t kind)
{
    fd_run_list runs = fd_reading_runs(r, kind, 0);
    for (uint32_t i = 0; i < runs.count; i++) {
        read_run(r, runs.list[i], kind);
    }
}

/* Return the job that was open on the thread when the interval was launched,
 * or NULL. Jobs are sorted by their starts. */
static fd_trace_job *
job_of(const fd_trace_rank *rank, const fd_trace_gpu_event *event)
{
    uint32_t low = 0;
    uint32_t high = rank->jobs.count;
    FD_BISECT(low, high, rank->jobs.list[middle].start <= event->host);
    while (low > 0) {
        fd_trace_job *job = &rank->jobs.list[--low];
        if (job->context == event->context && job->thread == event->thread) {
            return event->host - job->start <= job->duration ? job : NULL;
        }
    }
    return NULL;
}

/* Give each job its first interval. */
static void
give_to_jobs(fd_reading *r)
{
    for (uint32_t i = 0; i < r->rank->gpu_events.count; i++) {
        const fd_trace_gpu_event *event = &r->rank->gpu_events.list[i];
        uint32_t node = r->trace->contexts.list[event->context].node;
        fd_trace_job *job = r->trace->nodes.list[node].kind == FD_NODE_JOB
                              ? job_of(r->rank, event)
                              : NULL;
        if (job != NULL && job->device == 0) {
            job->device = (uint32_t)event->device + 1;
            job->gpu_start = event->start;
            job->gpu_duration = event->duration;
        }
    }
}

void
fd_read_gpu(fd_reading *r)
{
    if (r->kernels.count == 0) {
        read_figures(r);
    }
    if (r->part == FD_PART_TIMELINE) {
        fd_read_gpu_events(r, FD_CHUNK_GPU_EVENTS);
        give_to_jobs(r);
    }
}
