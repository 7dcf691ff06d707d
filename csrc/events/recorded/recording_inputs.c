#include "events/recorded/recording_inputs.h"

#include <string.h>

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

fd_status
fd_timeline_survey_rank(fd_timeline_survey *survey, const fd_trace *trace,
                        const fd_trace_rank *rank, bool moments)
{
    static const char none[33] = "00000000000000000000000000000000";
    *survey = (fd_timeline_survey){.has_base = true,
                                   .base_ns = (int64_t)rank->start.realtime_ns,
                                   .has_first = true}; /* the time is 0 */
    fd_timeline_sync *sync = &survey->sync;
    fd_status status = take_pings(sync, trace, rank);
    if (status == FD_OK && moments) {
        status = take_slices(sync, trace, rank);
    }
    sync->has_boot = strcmp(rank->boot_id, none) != 0;
    memcpy(sync->boot_id, rank->boot_id, sizeof sync->boot_id);
    sync->boottime_ns = (int64_t)rank->start.boottime_ns;
    return status;
}
