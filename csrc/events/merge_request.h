/* The inputs and the options of a merge. */
#ifndef FD_MERGE_REQUEST_H
#define FD_MERGE_REQUEST_H

#include "clocks/clock_map.h"
#include "events/tools/input_survey.h"
#include "events/writers/perfetto_counts.h"

/* An input of a merge. The caller sets the path, the rank (from the file name),
 * and the content of a converted file; all other fields are results. */
typedef struct fd_timeline_input {
    const char *path; /* borrowed, like `content` and `damage` */
    uint32_t rank;
    const char
        *content;     /* file with the content as Chrome JSON; NULL: `path` */
    uint64_t damaged; /* regions that the conversion lost */
    const char *damage; /* message about the first one, or NULL */
    bool used;          /* selected for the merge */
    bool left_out;      /* skipped: its rank was not requested */
    bool beside;        /* another input has the same rank */
    char label[FD_TIMELINE_NAME * 2 + 32]; /* name of its processes */
    fd_timeline_survey survey;
    fd_rank_clock clock; /* from times of the input to times of the merge */
    /* owned by the merge; NULL: all times */
    struct fd_timeline_windows *windows;
    bool has_ranks; /* a merge, whose rows of ranks are kept */
    uint64_t events;
    uint64_t filtered;   /* events skipped by filters of steps and times */
    uint64_t arrows;     /* flows between this and the other input of
                          * its rank */
    uint64_t overlaps;   /* slices dropped by viewers of Chrome JSON */
    uint64_t lost;       /* damaged regions of the file */
    uint64_t lost_bytes; /* bytes in damaged regions */
    uint64_t repaired;   /* invalid JSON values */
    uint64_t unpaired;   /* for statistics: begins without end, ends without
                          * begin */
    uint64_t timeless;   /* for statistics: slices without a valid ts or dur */
    char trouble[128];   /* message about the first damage, or "" */
    fd_perfetto_counts native; /* counts of a native output */
} fd_timeline_input;

/* Return the file to read. */
static inline const char *
fd_timeline_content(const fd_timeline_input *input)
{
    return input->content != NULL ? input->content : input->path;
}

/* The real time of time 0 of a merge. */
typedef struct fd_timeline_clock {
    bool has_base;
    int64_t base_ns; /* ns since 1970 */
} fd_timeline_clock;

/* Set the clocks of inputs, which are sorted by rank. Returning false stops the
 * merge with FD_EINVAL. */
typedef bool fd_align_inputs(void *context, fd_timeline_input *const *inputs,
                             uint32_t count, fd_timeline_clock *clock);

/* Find the requested steps of a file without ProfilerStep: the start of the
 * first one, the end of the last. `*any`: there are any. Returning false stops
 * the merge with FD_EINVAL. */
typedef bool fd_find_steps(void *context, const char *path,
                           uint64_t first_step, uint64_t end_step, bool *any,
                           int64_t times[2]);

typedef struct fd_timeline_request {
    const char *output;        /* path; a suffix selects native Perfetto */
    bool named_durations;      /* add durations to the names of slices */
    bool has_times;            /* copy only events that overlap these times */
    int64_t begin_ns;          /* ns since the earliest event of all inputs */
    int64_t end_ns;            /* not included */
    bool has_steps;            /* copy only events that begin in the steps */
    uint64_t first_step;       /* from this step */
    uint64_t end_step;         /* up to, but not including, this step */
    fd_find_steps *find_steps; /* NULL: files have no other steps */
    fd_align_inputs *align;    /* NULL: do not change times */
    bool moments;          /* `align` uses collectives, messages and pings */
    bool starts;           /* `align` uses the earliest events */
    const uint32_t *ranks; /* requested ranks; NULL: all */
    size_t rank_count;
    bool sorted; /* all events by time; otherwise each file in its own order */
    /* Called from time to time with the number of bytes read and the total;
     * returning false stops the merge with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_timeline_request;

#endif
