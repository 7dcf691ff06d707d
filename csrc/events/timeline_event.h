/* One event of a timeline, whatever format it was read from: the fixed-size
 * struct between readers and writers.
 *
 *     reader ── fd_timeline_event ──► tools, writers
 *
 * Texts and numbers that are passed on are spans of JSON values, valid until
 * the reader moves on: "name" with its quotes, 17, {"a":1}. A span whose
 * `from` is NULL is absent. Times are parsed once, by the reader. */
#ifndef FD_TIMELINE_EVENT_H
#define FD_TIMELINE_EVENT_H

#include "json/json_scan.h"

typedef struct fd_timeline_event {
    char phase;     /* as in Chrome JSON: X, B, E, ...; 0: none */
    char scope;     /* of an instant: t, p, g; 0: not given */
    bool encloses;  /* "bp": "e": a flow ends at the slice around it */
    bool follows;   /* a flow of the slice or instant that was read before */
    bool flow_in;   /* of `bind_id` */
    bool flow_out;  /* the same */
    bool has_start; /* `start` is known */
    bool has_duration; /* `duration` is known */
    bool exact;        /* `start` has all digits of `ts` */
    int64_t start;     /* ns, rounded down */
    int64_t duration;
    fd_span name;
    fd_span cat;
    fd_span pid;
    fd_span tid;
    fd_span ts; /* us as written in the file; absent: `start` is exact */
    fd_span dur;
    fd_span id;
    fd_span local_id;  /* of id2 */
    fd_span global_id; /* of id2 */
    fd_span bind_id;
    fd_span args; /* see fd_timeline_args */
    fd_span rest; /* other members, each with a comma before it */
    const struct fd_perfetto_event *native; /* its form in a native trace */
    fd_span (*native_args)(const struct fd_perfetto_event *native);
    uint64_t offset;  /* of the event in the content of the file */
    uint32_t size;    /* of it there, in bytes */
    uint32_t repairs; /* values that were not JSON */
} fd_timeline_event;

/* The text of a value: without quotes if it is a string. */
static inline fd_span
fd_timeline_text(fd_span value)
{
    return value.from != NULL ? fd_span_inside(value) : value;
}

/* Whether the name is a string. */
static inline bool
fd_timeline_named(const fd_timeline_event *event)
{
    return event->name.from != NULL && *event->name.from == '"';
}

/* The id that joins events: local, global or plain. */
static inline fd_span
fd_timeline_id(const fd_timeline_event *event)
{
    return event->local_id.from != NULL  ? event->local_id
         : event->global_id.from != NULL ? event->global_id
                                         : event->id;
}

/* Append an id as both viewers read it: "0x1f". */
void fd_timeline_put_id(uint64_t id, fd_buffer *to);

/* The arguments as an object. Those of native events are converted by each
 * call. */
static inline fd_span
fd_timeline_args(const fd_timeline_event *event)
{
    return event->args.from != NULL || event->native == NULL
             ? event->args
             : event->native_args(event->native);
}

/* A member of the arguments. */
bool fd_timeline_find(const fd_timeline_event *event, const char *name,
                      fd_span *value);

/* The same, without quotes. */
fd_span fd_timeline_argument_text(const fd_timeline_event *event,
                                  const char *name);

/* A whole number in the arguments. */
bool fd_timeline_argument(const fd_timeline_event *event, const char *name,
                          uint64_t *number);

/* Begin and end of a complete event (phase X). */
bool fd_timeline_interval(const fd_timeline_event *event, int64_t *begin_ns,
                          int64_t *end_ns);

/* Whether the text after `prefix` is a decimal number, at the end or before one
 * of `ends`. */
bool fd_span_numbered(fd_span text, const char *prefix, const char *ends,
                      uint64_t *number);

#endif
