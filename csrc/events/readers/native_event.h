/* What an event of a native trace refers to: its packet, its track and texts in
 * the tables of the reader. Valid until the reader moves on. */
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
    uint32_t category; /* texts */
    uint32_t name;
    bool is_legacy; /* its phase and name are those of `legacy` */
    bool has_value;
    bool is_real;
    bool has_notes; /* annotations */
    bool has_more;  /* these, or fields that are not read */
    bool has_flows;
    uint64_t value; /* of a counter, a whole one */
    double real;    /* the same, with its increments, without its unit */
    fd_proto_field legacy;  /* bytes NULL: none */
    fd_proto_field message; /* all fields */
    fd_event_batch *batch;
} fd_perfetto_event;

/* Whether events of its track are on a thread, or concern a whole process: an
 * instant or a legacy event on the track of a process. */
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
