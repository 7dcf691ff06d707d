/* One event of a timeline in any format: the fixed-size struct between readers
 * and writers.
 *
 *     reader ── fd_timeline_event ──► tools, writers
 *
 * Copied texts and numbers are spans of JSON values, valid until the next
 * event is read: "name" with its quotes, 17, {"a":1}. A span whose `from` is
 * NULL is absent. Times are parsed once, by the reader. */
#ifndef FD_TIMELINE_EVENT_H
#define FD_TIMELINE_EVENT_H

#include "json/json_scan.h"

typedef struct fd_timeline_event {
    char phase;     /* as in Chrome JSON: X, B, E, ...; 0: no phase */
    char scope;     /* of an instant: t, p, g; 0: absent */
    bool encloses;  /* "bp": "e": a flow ends at the slice that encloses it */
    bool flow_in;   /* "flow_in", with `bind_id` */
    bool flow_out;  /* "flow_out", with `bind_id` */
    bool has_start; /* `start` is known */
    bool has_duration; /* `duration` is known */
    bool exact;        /* `start` has all digits of `ts` */
    bool
        beside; /* of a thread_name: not a thread, but a track of its process */
    int64_t start; /* ns, rounded down */
    int64_t duration;
    fd_span name;
    fd_span cat;
    fd_span pid;
    fd_span tid;
    fd_span ts; /* us as written in the file; absent: `start` is exact */
    fd_span dur;
    fd_span id;
    fd_span local_id;  /* "local" in "id2" */
    fd_span global_id; /* "global" in "id2" */
    fd_span bind_id;
    fd_span args; /* an object */
    fd_span rest; /* other members, each preceded by a comma */
    /* numbers of the name and the category among the texts of the reader, from 1
     * on; 0: unknown */
    uint32_t name_id;
    uint32_t cat_id;
    uint64_t offset;  /* position of the event in the content of the file */
    uint32_t size;    /* bytes of the event in the content */
    uint32_t repairs; /* number of invalid JSON values that were replaced */
} fd_timeline_event;

/* Return the text of a value: without quotes if it is a string. */
static inline fd_span
fd_timeline_text(fd_span value)
{
    return value.from != NULL ? fd_span_inside(value) : value;
}

/* Return whether the name is a string. */
static inline bool
fd_timeline_named(const fd_timeline_event *event)
{
    return event->name.from != NULL && *event->name.from == '"';
}

/* Return the id that joins events: the local, global or plain one. */
static inline fd_span
fd_timeline_id(const fd_timeline_event *event)
{
    return event->local_id.from != NULL  ? event->local_id
         : event->global_id.from != NULL ? event->global_id
                                         : event->id;
}

/* Append an id in the form that Chrome and Perfetto read: "0x1f". */
void fd_timeline_put_id(uint64_t id, fd_buffer *to);

/* Find a member of the arguments. */
bool fd_timeline_find(const fd_timeline_event *event, const char *name,
                      fd_span *value);

/* Return a member of the arguments, without quotes. */
fd_span fd_timeline_argument_text(const fd_timeline_event *event,
                                  const char *name);

/* Find a member of the arguments that is a non-negative integer. */
bool fd_timeline_argument(const fd_timeline_event *event, const char *name,
                          uint64_t *number);

/* Return the start and end of a complete event (phase X); false if it is not
 * one. */
bool fd_timeline_interval(const fd_timeline_event *event, int64_t *begin_ns,
                          int64_t *end_ns);

/* Return whether the text after `prefix` is a decimal number, followed by the
 * end of the text or by one of the characters `ends`. */
bool fd_span_numbered(fd_span text, const char *prefix, const char *ends,
                      uint64_t *number);

#endif
