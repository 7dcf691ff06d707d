/* What must be known of all inputs of a merge before the first is copied. */
#ifndef FD_TIMELINE_SURVEY_H
#define FD_TIMELINE_SURVEY_H

#include "timeline/reader.h"

typedef struct fd_timeline_survey {
    bool is_trace;
    bool has_rank; /* distributedInfo says it */
    uint32_t rank;
    uint32_t world; /* 0: not said */
    bool has_base;  /* baseTimeNanoseconds: of PyTorch, or in the facts of VizTracer */
    int64_t base_ns;
    bool has_first;
    int64_t first_ns;  /* the earliest time of an event */
    uint64_t size;     /* of the file */
    char trouble[128]; /* why it is no trace; "" */
} fd_timeline_survey;

/* Reads no further than the begin of the events when the base is told before
 * them and the earliest event is not asked for. */
fd_status fd_timeline_survey_read(fd_timeline_survey *survey, const char *path,
                                  bool find_first, fd_error *error);

#endif
