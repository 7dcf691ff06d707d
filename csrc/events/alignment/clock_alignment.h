/* Alignment of the clocks of all inputs (docs/concepts/clocks.md). */
#ifndef FD_CLOCK_ALIGNMENT_H
#define FD_CLOCK_ALIGNMENT_H

#include "events/tools/input_survey.h"
#include "events/writers/perfetto_counts.h"

typedef enum fd_timeline_align {
    FD_ALIGN_NONE,  /* times as they are */
    FD_ALIGN_WALL,  /* by baseTimeNanoseconds */
    FD_ALIGN_START, /* each input begins at 0 */
    FD_ALIGN_AUTO,  /* the best method for each rank */
    FD_ALIGN_PINGPONG,
    FD_ALIGN_COLLECTIVE,
    FD_ALIGN_P2P,
    FD_ALIGN_ASKED, /* number of methods that can be requested */
    FD_ALIGN_HOST = FD_ALIGN_ASKED, /* found: the clock of another input */
    FD_ALIGN_REFERENCE              /* found: the others are aligned with it */
} fd_timeline_align;

const char *fd_timeline_align_name(fd_timeline_align align);

/* An input of a merge. The caller sets the path, the rank according to its name
 * and the options of privacy; the rest is the result. */
typedef struct fd_timeline_input {
    const char *path;  /* borrowed */
    const char *shown; /* what the output calls it, borrowed; NULL: its path */
    const fd_privacy *privacy; /* borrowed; NULL: names stay */
    uint32_t rank;
    bool used;     /* a trace of a requested rank */
    bool left_out; /* of a rank that was not requested */
    bool beside;   /* another input is of the same rank */
    char label[FD_TIMELINE_NAME * 2 + 32]; /* of its processes */
    fd_timeline_survey survey;
    fd_timeline_align align; /* as it was done */
    fd_clock_map clock;      /* from its times to those of the merge */
    int64_t uncertainty_ns;  /* of that; or FD_CLOCK_UNKNOWN */
    bool has_residual;
    int64_t residual_ns;                 /* against the next best method */
    uint64_t violations;                 /* effects before their causes */
    struct fd_timeline_windows *windows; /* owned by the merge; NULL: all */
    uint64_t events;
    uint64_t filtered;   /* events of other steps and devices */
    uint64_t arrows;     /* to and from the other input of its rank */
    uint64_t overlaps;   /* slices that viewers of Chrome JSON drop */
    uint64_t lost;       /* damaged places */
    uint64_t lost_bytes; /* in them */
    uint64_t repaired;   /* invalid JSON values */
    uint64_t unpaired;   /* for statistics: begins or ends without the other */
    uint64_t timeless;   /* for statistics: slices without a valid ts or dur */
    char trouble[128];   /* the first damage, in words; "" */
    fd_perfetto_counts native; /* of native output, or of a native input */
} fd_timeline_input;

static inline const char *
fd_timeline_name(const fd_timeline_input *input)
{
    return input->shown != NULL ? input->shown : input->path;
}

static inline fd_status
fd_timeline_input_open(const fd_timeline_input *input,
                       fd_timeline_reader *reader, fd_error *error)
{
    return fd_timeline_reader_open(reader, input->path, input->privacy, error);
}

/* Time 0 of the merge. */
typedef struct fd_timeline_clock {
    bool has_base;
    int64_t base_ns; /* since 1970 */
} fd_timeline_clock;

/* The options of a survey. */
fd_timeline_survey_options fd_timeline_align_survey(fd_timeline_align align,
                                                    uint32_t count);

/* Set `align`, `clock` and its accuracy for all inputs. */
fd_status fd_timeline_align_all(fd_timeline_input *const *inputs,
                                uint32_t count, fd_timeline_align align,
                                fd_timeline_clock *clock);

/* Whether the accuracy of the alignment is known. */
bool fd_timeline_is_calibrated(const fd_timeline_input *input);

/* FD_EINVAL if it is unknown for a rank; the message names these ranks. */
fd_status fd_timeline_align_check(fd_timeline_input *const *inputs,
                                  uint32_t count, fd_error *error);

#endif
