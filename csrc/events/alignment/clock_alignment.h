/* Alignment of the clocks of all inputs (docs/concepts/clocks.md). */
#ifndef FD_CLOCK_ALIGNMENT_H
#define FD_CLOCK_ALIGNMENT_H

#include "events/tools/input_survey.h"
#include "events/writers/perfetto_counts.h"

typedef enum fd_timeline_align {
    FD_ALIGN_NONE,  /* do not shift times */
    FD_ALIGN_WALL,  /* align by baseTimeNanoseconds */
    FD_ALIGN_START, /* each input begins at 0 */
    FD_ALIGN_AUTO,  /* select the best method for each rank */
    FD_ALIGN_PINGPONG,
    FD_ALIGN_COLLECTIVE,
    FD_ALIGN_P2P,
    FD_ALIGN_ASKED, /* number of methods that can be requested */
    /* a result: by another input from the same host */
    FD_ALIGN_HOST = FD_ALIGN_ASKED,
    /* a result: other inputs are aligned with this one */
    FD_ALIGN_REFERENCE
} fd_timeline_align;

const char *fd_timeline_align_name(fd_timeline_align align);

/* An input of a merge. The caller sets the path, the rank (from the file name);
 * all other fields are results. */
typedef struct fd_timeline_input {
    const char *path; /* borrowed */
    uint32_t rank;
    bool used;     /* selected for the merge */
    bool left_out; /* skipped: its rank was not requested */
    bool beside;   /* another input has the same rank */
    char label[FD_TIMELINE_NAME * 2 + 32]; /* name of its processes */
    fd_timeline_survey survey;
    fd_timeline_align align; /* the method that was used */
    fd_clock_map clock;      /* from times of the input to times of
                              * the merge */
    int64_t uncertainty_ns;  /* of `clock`; or FD_CLOCK_UNKNOWN */
    bool has_residual;
    /* difference from the best other method */
    int64_t residual_ns;
    /* effects that begin before their cause */
    uint64_t violations;
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
    uint64_t strays;     /* for statistics: slices far from all others */
    uint32_t stray_name; /* name of the first one: index of a text */
    int64_t stray_ns;    /* its distance from the others; negative: before */
    char trouble[128];   /* message about the first damage, or "" */
    fd_perfetto_counts native; /* counts of a native output */
} fd_timeline_input;

/* The real time of time 0 of a merge. */
typedef struct fd_timeline_clock {
    bool has_base;
    int64_t base_ns; /* ns since 1970 */
} fd_timeline_clock;

/* Return the options of a survey that finds what a method of
 * alignment needs. */
fd_timeline_survey_options fd_timeline_align_survey(fd_timeline_align align,
                                                    uint32_t count);

/* Set `align`, `clock` and the accuracy of all inputs. */
fd_status fd_timeline_align_all(fd_timeline_input *const *inputs,
                                uint32_t count, fd_timeline_align align,
                                fd_timeline_clock *clock);

/* Return whether the accuracy of the alignment is known. */
bool fd_timeline_is_calibrated(const fd_timeline_input *input);

/* Return FD_EINVAL if the accuracy is unknown for a rank; the message names
 * these ranks. */
fd_status fd_timeline_align_check(fd_timeline_input *const *inputs,
                                  uint32_t count, fd_error *error);

#endif
