/* References of an event of a native trace: its packet, its track, and texts
 * in the tables of the reader. Valid until the next event is read. */
#ifndef FD_NATIVE_EVENT_H
#define FD_NATIVE_EVENT_H

#include "events/readers/perfetto_tables.h"
#include "events/recorded/perfetto_fields.h"

typedef struct fd_perfetto_event {
    fd_perfetto_tables *tables;
    const fd_perfetto_from *from; /* NULL: too many sequences */
    fd_perfetto_track *track;     /* in `tables` */
    int64_t time;
    uint64_t type;
    uint32_t category; /* index of a text in `tables` */
    uint32_t name;
    bool is_legacy; /* phase and name are given by `legacy` */
    bool has_value;
    bool is_real;
    bool has_notes; /* has debug annotations */
    bool has_more;  /* has debug annotations or fields that are not read */
    bool has_flows;
    uint64_t value; /* integer value of a counter */
    double real;    /* value of a counter with increments added, before its
                     * unit is applied */
    fd_proto_field legacy;  /* `bytes` NULL: absent */
    fd_proto_field message; /* all fields */
    fd_event_batch *batch;
} fd_perfetto_event;

/* Return whether events of the track are shown on a thread. Otherwise, they
 * concern the whole process: an instant or a legacy event on the track of a
 * process. */
static inline bool
fd_perfetto_on_thread(const fd_perfetto_event *event)
{
    return event->track->kind == FD_PERFETTO_THREAD;
}

static inline bool
fd_perfetto_on_process(const fd_perfetto_event *event)
{
    return event->track->kind == FD_PERFETTO_PROCESS
        && (event->type == FD_PB_TYPE_INSTANT || event->is_legacy);
}

#endif
