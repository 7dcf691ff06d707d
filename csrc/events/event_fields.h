/* What an event says of itself, each value once: the last one of a key. */
#ifndef FD_EVENT_FIELDS_H
#define FD_EVENT_FIELDS_H

#include "events/chrome_event.h"

/* A span without text (`from` is NULL): the key is not there. */
typedef struct fd_timeline_facts {
    char phase;   /* 0: no text of one character */
    fd_span name; /* inside of a JSON string */
    fd_span cat;
    fd_span pid; /* values as they are spelled */
    fd_span tid;
    fd_span ts;
    fd_span dur;
    fd_span id;
    fd_span args;
    bool named;     /* the name is a text */
    bool local;     /* the id counts within its process */
    bool to_next;   /* a flow ends at the next slice, not at the one around */
    bool has_start; /* ts is a number */
    bool has_duration;
    int64_t start; /* ns, rounded down */
    int64_t duration;
} fd_timeline_facts;

void fd_timeline_facts_read(fd_timeline_facts *facts,
                            const fd_timeline_event *event);

/* A whole number in the arguments. */
bool fd_timeline_argument(const fd_timeline_facts *facts, const char *name,
                          uint64_t *number);

/* The text behind `prefix` is a number of decimal digits, and then comes one of
 * `ends` or nothing. */
bool fd_span_numbered(fd_span text, const char *prefix, const char *ends,
                      uint64_t *number);

#endif
