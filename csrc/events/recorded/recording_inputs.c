#include "events/recorded/recording_inputs.h"

#include "pipeline/recorded/pipeline_clocks.h"

#include <string.h>

typedef struct aligned_ranks {
    fd_timeline_input *inputs; /* owned; by rank */
    fd_timeline_input **list;  /* owned */
} aligned_ranks;

static fd_status
take_pings(fd_timeline_sync *sync, const fd_trace *trace,
           const fd_trace_rank *rank)
{
    static const char clock[] = "clock";
    const fd_span key = {clock, clock + sizeof clock - 1};
    const char *json = fd_rank_fact(trace, rank, clock);
    return json == NULL ? FD_OK
                        : fd_timeline_sync_member(
                            sync, key, (fd_span){json, json + strlen(json)});
}

static fd_status
take_slices(fd_timeline_sync *sync, const fd_trace *trace,
            const fd_trace_rank *rank)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->events.count && status == FD_OK; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        if (event->kind == FD_EVENT_CALL || event->kind == FD_EVENT_ASYNC) {
            uint32_t node = trace->contexts.list[event->context].node;
            const char *name =
                fd_trace_text(trace, trace->nodes.list[node].name);
            status = fd_timeline_sync_slice(
                sync, (fd_span){name, name + strlen(name)},
                (int64_t)event->start,
                (int64_t)(event->start + event->duration));
        }
    }
    return status;
}

static fd_status
take_rank(fd_timeline_input *input, const fd_trace *trace,
          const fd_trace_rank *rank, fd_timeline_survey_options options)
{
    static const char none[33] = "00000000000000000000000000000000";
    fd_timeline_survey *survey = &input->survey;
    fd_timeline_sync *sync = &survey->sync;
    input->rank = rank->rank;
    survey->has_base = true;
    survey->base_ns = (int64_t)rank->start.realtime_ns;
    survey->has_first = true; /* the time is 0 */
    fd_status status = take_pings(sync, trace, rank);
    if (status == FD_OK && options.sync > 0) {
        status = take_slices(sync, trace, rank);
    }
    sync->has_boot = strcmp(rank->boot_id, none) != 0;
    memcpy(sync->boot_id, rank->boot_id, sizeof sync->boot_id);
    sync->boottime_ns = (int64_t)rank->start.boottime_ns;
    return fd_then(status, fd_timeline_sync_settle(sync, options.sync));
}

static fd_status
align_all(aligned_ranks *a, const fd_trace *trace, fd_timeline_align align,
          bool strict, fd_timeline_clock *clock, fd_error *error)
{
    uint32_t count = trace->ranks.count;
    fd_timeline_survey_options options =
        fd_timeline_align_survey(align, count);
    fd_status status =
        a->inputs != NULL && a->list != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        a->list[i] = &a->inputs[i];
        status = take_rank(a->list[i], trace, &trace->ranks.list[i], options);
    }
    fd_then(status, fd_timeline_align_all(a->list, count, align, clock));
    return status == FD_OK && strict
             ? fd_timeline_align_check(a->list, count, error)
             : status;
}

fd_status
fd_timeline_align_trace(const fd_trace *trace, fd_timeline_align align,
                        bool strict, fd_export_clock *clocks, int64_t *base_ns,
                        fd_error *error)
{
    uint32_t count = trace->ranks.count;
    fd_timeline_clock clock;
    aligned_ranks a = {fd_calloc(count, sizeof *a.inputs),
                       fd_calloc(count, sizeof *a.list)};
    fd_status status = align_all(&a, trace, align, strict, &clock, error);
    if (status == FD_OK) {
        *base_ns = clock.has_base
                     ? clock.base_ns
                     : (int64_t)trace->ranks.list[0].start.realtime_ns;
        for (uint32_t i = 0; i < count; i++) {
            const fd_timeline_input *input = &a.inputs[i];
            clocks[i] = (fd_export_clock){
                .map = input->clock,
                .method = fd_timeline_align_name(input->align),
                .uncertainty_ns = input->uncertainty_ns,
                .has_residual = input->has_residual,
                .residual_ns = input->residual_ns,
                .violations = input->violations};
        }
    }
    for (uint32_t i = 0; a.inputs != NULL && i < count; i++) {
        fd_timeline_survey_clear(&a.inputs[i].survey);
    }
    fd_free(a.inputs);
    fd_free(a.list);
    return status;
}

static fd_status
take_clocks(fd_pipe_known *known, const fd_trace *trace, fd_error *error)
{
    uint32_t count = trace->ranks.count;
    int64_t base;
    fd_export_clock *clocks = fd_calloc((size_t)count + 1, sizeof *clocks);
    if (clocks == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = fd_timeline_align_trace(trace, FD_ALIGN_AUTO, false,
                                               clocks, &base, error);
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        known[i].clock = clocks[i].map;
        known[i].unsure = clocks[i].uncertainty_ns;
    }
    fd_free(clocks);
    return status;
}

fd_status
fd_timeline_jobs(fd_pipe *p, fd_pipe_matches *found, const fd_trace *trace,
                 fd_pipe_known *known, bool strict, fd_error *error)
{
    fd_status status =
        trace->ranks.count == 0 ? FD_OK : take_clocks(known, trace, error);
    fd_then(status, fd_pipe_read(p, trace, known));
    if (status == FD_OK && strict) {
        status = fd_pipeline_check_clocks(p, error);
    }
    fd_then(status, fd_pipeline_match(found, p));
    return fd_then(status, fd_pipeline_clocks(p));
}
