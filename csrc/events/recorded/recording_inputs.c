#include "events/recorded/recording_inputs.h"

#include <string.h>

fd_status
fd_timeline_sync_rank(fd_timeline_sync *sync, const fd_trace *trace,
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
