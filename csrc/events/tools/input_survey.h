/* What must be known of all inputs of a merge before the first is copied. */
#ifndef FD_INPUT_SURVEY_H
#define FD_INPUT_SURVEY_H

#include "events/alignment/sync_events.h"
#include "events/readers/event_reader.h"

/* Longer names are not taken. */
enum { FD_TIMELINE_NAME = 96 };

/* The program whose traces may be of the same ranks as another's. */
#define FD_TIMELINE_OURS "fastdispatch"

typedef struct fd_timeline_survey {
    bool is_trace;
    const char *program;          /* that wrote it; "": not known */
    const char *format;           /* of the file */
    char host[FD_TIMELINE_NAME];  /* "": not said, as the one below */
    char place[FD_TIMELINE_NAME]; /* "pipe 1, data 0" */
    bool has_rank;                /* distributedInfo says it */
    uint32_t rank;
    uint32_t world; /* 0: not said */
    bool
        has_base; /* baseTimeNanoseconds: of PyTorch, or in the facts of VizTracer */
    int64_t base_ns;
    bool has_first;
    int64_t first_ns;      /* the earliest time of an event that was read */
    fd_timeline_sync sync; /* owned; if requested */
    uint64_t size;         /* of the file */
    char trouble[128];     /* why it is not a trace; "" */
} fd_timeline_survey;

/* Options of a survey. */
typedef struct fd_timeline_survey_options {
    bool first;    /* the earliest event */
    uint32_t sync; /* at most so many moments to align clocks by; 0: none */
    const fd_privacy *privacy; /* borrowed; NULL: names stay */
} fd_timeline_survey_options;

/* The first event with a time is searched in so many bytes. */
enum { FD_TIMELINE_FIRST_BYTES = 1 << 20 };

/* Of a trace that shows no such moment within so many bytes no more is read. */
enum { FD_TIMELINE_SYNC_BYTES = 64 << 20 };

/* Read to the begin of the events if the base is before them and no option needs
 * for more. Clear it in any case. */
fd_status fd_timeline_survey_read(fd_timeline_survey *survey, const char *path,
                                  fd_timeline_survey_options options,
                                  fd_error *error);
void fd_timeline_survey_clear(fd_timeline_survey *survey);

#endif
