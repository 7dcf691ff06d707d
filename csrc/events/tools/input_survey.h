/* Facts about each input that a merge needs before it copies the first one: its
 * members, which Python reads (read/timeline_members.py), its times, and rows
 * of the events from which Python finds the collectives and messages for the
 * alignment of clocks (read/sync_events.py). */
#ifndef FD_INPUT_SURVEY_H
#define FD_INPUT_SURVEY_H

#include "events/stats/event_rows.h"

/* Longer values are omitted. */
enum { FD_TIMELINE_MEMBER_BYTES = 1 << 20 };

typedef struct fd_timeline_survey {
    bool is_trace;
    const char *format; /* the format of the file */
    fd_buffer members;  /* owned; names and values, each ended by a NUL */
    bool has_base;      /* the real time of time 0 is among them */
    bool has_first;
    int64_t first_ns;   /* the earliest time among the events read */
    uint64_t size;      /* bytes of the file */
    char trouble[128];  /* why the file is not a trace, or "" */
    fd_row_batch batch; /* owned; used while reading */
    uint64_t events;    /* so far */
    bool begun;         /* a slice that may be of use begins without an end */
} fd_timeline_survey;

/* Options of a survey. */
typedef struct fd_timeline_survey_options {
    bool first; /* find the earliest event */
    /* Receives the events that may be of collectives or messages, with
     * their arguments of use as `type`, and the texts of these rows. NULL: not needed. */
    fd_rows_take *take;
    void *context;
    const bool *found; /* set by `take`: there are collectives or messages */
} fd_timeline_survey_options;

/* The first event with a time is searched in this number of bytes. */
enum { FD_TIMELINE_FIRST_BYTES = 1 << 20 };

/* Reading stops after this number of bytes if they have no collectives or
 * messages. */
enum { FD_TIMELINE_SYNC_BYTES = 64 << 20 };

/* Survey a file. If its base time precedes the events and no option needs
 * more, stop at the first event. Clear the survey also after a failure. */
fd_status fd_timeline_survey_read(fd_timeline_survey *survey, const char *path,
                                  fd_timeline_survey_options options,
                                  fd_error *error);
void fd_timeline_survey_clear(fd_timeline_survey *survey);

#endif
