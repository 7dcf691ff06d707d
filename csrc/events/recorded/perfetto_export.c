#include "events/recorded/timeline_exports.h"

#include "base/sums.h"
#include "events/recorded/slice_names.h"
#include "events/recorded/trace_events.h"
#include "events/writers/perfetto_writer.h"
#include "trace/trace.h"

/* A rank is an input of the writer, with its own times. */
typedef struct exporting {
    const fd_trace *trace;
    const fd_export_options *options;
    fd_perfetto_writer *writer; /* owned */
    fd_timeline_ids ids;        /* owned; of the current rank */
    uint32_t spare_pid;
    uint32_t spare_tid;
    fd_buffer label; /* owned */
    fd_error *error;
} exporting;

static void
begin_rank(exporting *e, uint32_t index)
{
    fd_timeline_ids_clear(&e->ids);
    e->ids = (fd_timeline_ids){.rank = e->trace->ranks.list[index].rank,
                               .inputs = 1,
                               .label = "",
                               .program = "",
                               .keeps_pids = true,
                               .spare_pid = &e->spare_pid,
                               .spare_tid = &e->spare_tid};
}

/* Return the clock of a rank. The clock of the trace is that of the first
 * rank. */
static fd_perfetto_clock
clock_of(const exporting *e, uint32_t index)
{
    const fd_export_options *options = e->options;
    const fd_trace_rank *first = &e->trace->ranks.list[0];
    const fd_clock_map zero = fd_export_clock_of(e->trace, options, 0);
    int64_t boot = (int64_t)first->start.boottime_ns;
    int64_t real = (int64_t)first->start.realtime_ns;
    int64_t off = FD_CLOCK_UNKNOWN;
    if (options->clocks != NULL) {
        real = options->clocks_base_ns + fd_clock_apply(&zero, 0);
        off = options->clocks[index].uncertainty_ns;
    }
    fd_perfetto_clock clock = {
        .map = fd_export_clock_of(e->trace, options, index),
        .step_ns = fd_perfetto_step(off),
        .has_base = true,
        .base_ns = fd_minus(real, boot)};
    clock.map.offset_ns =
        fd_plus(clock.map.offset_ns, fd_minus(boot, fd_clock_apply(&zero, 0)));
    return clock;
}

/* Write the events of a rank. The label of its process states the pid and the
 * alignment of the clock. */
static fd_status
end_rank(exporting *e, uint32_t index)
{
    const fd_perfetto_clock clock = clock_of(e, index);
    fd_perfetto_counts counts = {0};
    fd_buffer *label = &e->label;
    label->size = 0;
    fd_buffer_format(label, "pid %u", e->trace->ranks.list[index].pid);
    if (e->options->clocks != NULL) {
        fd_buffer_text(label, ", ");
        fd_export_clock_label(&e->options->clocks[index], label);
    }
    fd_buffer_bytes(label, "", 1);
    return label->status == FD_OK ? fd_perfetto_writer_end(
               e->writer, &e->ids, &clock, label->bytes, &counts, e->error)
                                  : label->status;
}

static fd_status
write_batch(exporting *e, const fd_event_batch *batch)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < batch->items.count && status == FD_OK; i++) {
        const fd_batch_item *item = &batch->items.list[i];
        if (item->key.from == NULL) {
            status = fd_perfetto_writer_event(e->writer, &item->event, &e->ids,
                                              e->error);
        }
    }
    return status;
}

static fd_status
write_events(exporting *e, fd_trace_events *events)
{
    fd_event_batch batch = {.next = 0};
    uint32_t rank;
    uint32_t last = UINT32_MAX;
    fd_status status;
    do {
        fd_batch_reset(&batch);
        status = fd_trace_events_fill(events, &batch);
        rank = fd_trace_events_rank(events);
        if (status == FD_OK && last != UINT32_MAX
            && (rank != last || batch.items.count == 0)) {
            status = end_rank(e, last);
        }
        if (rank != last) {
            begin_rank(e, rank);
            last = rank;
        }
        fd_then(status, write_batch(e, &batch));
    } while (status == FD_OK && batch.items.count > 0);
    fd_batch_clear(&batch);
    return status;
}

fd_status
fd_export_perfetto(const fd_trace *trace, const fd_export_options *options,
                   fd_buffer *to, fd_error *error)
{
    fd_perfetto_spare spare = {1, 1};
    fd_export_options plain = *options;
    exporting e = {.trace = trace,
                   .options = options,
                   .spare_pid = FD_TIMELINE_RANKS * (uint32_t)FD_TIMELINE_PIDS,
                   .spare_tid = FD_TIMELINE_FIRST_TID,
                   .error = error};
    plain.durations = FD_DURATIONS_ARGS;
    fd_status status = fd_timeline_check(trace, options->rank, error);
    fd_trace_events *events =
        status == FD_OK ? fd_trace_events_open(trace, &plain, true) : NULL;
    if (status == FD_OK) {
        e.writer = fd_perfetto_writer_new(to, NULL, "/tmp/", &spare);
        status = e.writer != NULL && events != NULL ? write_events(&e, events)
                                                    : FD_ENOMEM;
    }
    fd_trace_events_close(events);
    fd_perfetto_writer_free(e.writer);
    fd_timeline_ids_clear(&e.ids);
    fd_buffer_clear(&e.label);
    return fd_then(status, to->status);
}
