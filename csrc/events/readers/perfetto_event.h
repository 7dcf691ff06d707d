/* One packet of a native track as events. */
#ifndef FD_PERFETTO_EVENT_H
#define FD_PERFETTO_EVENT_H

#include "events/event_batch.h"
#include "events/readers/perfetto_tables.h"

typedef struct fd_perfetto_event {
    fd_perfetto_tables *tables;
    const fd_perfetto_from *from;
    fd_perfetto_track *track;
    int64_t time;
    uint64_t type;
    uint32_t category; /* texts */
    uint32_t name;
    bool has_value;
    bool is_real;
    bool has_notes;
    bool has_flows;
    uint64_t value;        /* of a counter, or its bits */
    fd_proto_field legacy; /* bytes NULL: none */
    const fd_proto_field *message;
    fd_event_batch *batch;
} fd_perfetto_event;

/* Whether a field of an event is a flow that it begins, continues or ends. */
bool fd_perfetto_event_is_flow(uint32_t number);

/* Read the fields of `message`; `uuid` is that of the track by default.
 * FD_EFORMAT: malformed event. */
fd_status fd_perfetto_event_read(fd_perfetto_event *event, uint64_t *uuid);

/* Add it to the batch, and the flow of a slice that begins: phase s, t or f. */
fd_status fd_perfetto_event_put(fd_perfetto_event *event);
void fd_perfetto_event_flow(fd_perfetto_event *event, char phase, uint64_t id);

#endif
