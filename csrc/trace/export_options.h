/* Options of exporters: ranks, weights, filters, clocks. */
#ifndef FD_EXPORT_OPTIONS_H
#define FD_EXPORT_OPTIONS_H

#include "clocks/clock_fit.h"
#include "trace/trace.h"
#include "json/json_writer.h"

typedef enum fd_export_style {
    FD_STYLE_DEFAULT,
    FD_STYLE_CLASSIC
} fd_export_style;

typedef enum fd_export_weight {
    FD_WEIGHT_TIME,
    FD_WEIGHT_CALLS,
    FD_WEIGHT_GPU /* only for flame graphs */
} fd_export_weight;

typedef enum fd_export_ops {
    FD_OPS_NONE,
    FD_OPS_TOP, /* operators that Python calls, without those below them */
    FD_OPS_ALL
} fd_export_ops;

/* Timelines: slices that have their duration in the name. */
typedef enum fd_export_durations {
    FD_DURATIONS_JOBS,
    FD_DURATIONS_NAME, /* all slices */
    FD_DURATIONS_ARGS  /* no slices */
} fd_export_durations;

/* Globs: '*' matches any text, '?' one character; all other characters match
 * themselves (also brackets, which occur in keys). A glob must match a
 * complete key or package name. */
typedef struct fd_export_globs {
    const char *const *list; /* borrowed */
    size_t count;
} fd_export_globs;

/* The map from the clock of a rank to the common clock. */
typedef struct fd_export_clock {
    fd_clock_map map;
    const char *method;     /* static; name of the method of alignment */
    int64_t uncertainty_ns; /* or FD_CLOCK_UNKNOWN */
    bool has_residual;
    int64_t residual_ns; /* difference from the best other method */
    uint64_t violations; /* number of effects earlier than their causes */
} fd_export_clock;

typedef struct fd_export_options {
    int rank; /* index into trace->ranks, or FD_ALL_RANKS */
    fd_export_style style;
    fd_export_weight weight;
    fd_export_ops ops;
    fd_export_globs hide;     /* functions to delete, with their edges */
    fd_export_globs contract; /* functions to contract: their callees become
                               * callees of their callers */
    double min_percent;       /* of the time; functions below it are folded.
                               * Negative: a default */
    bool all;                 /* no function is folded */
    uint32_t leaves;          /* pictures: boxes without callees per line; 0: a
                      * default */
    /* timelines: borrowed; by index of the rank; NULL: ranks of one host, or
     * use the wall clock */
    const fd_export_clock *clocks;
    int64_t clocks_base_ns; /* with clocks: real time of time 0, since
                                    * 1970 */
    fd_export_durations durations;
    bool no_flows; /* timelines: omit flows */
    /* borrowed; if ranks outside of the trace are included; NULL: find those
     * in the trace */
    const struct fd_transfers *transfers;
} fd_export_options;

typedef fd_status fd_export(const fd_trace *trace,
                            const fd_export_options *options, fd_buffer *to,
                            fd_error *error);

/* Write how the clocks were aligned:
 * "ranks":[{"rank":0,"align":"reference",...},...]. */
void fd_export_write_clocks(const fd_trace *trace,
                            const fd_export_options *options,
                            fd_json_writer *w);

/* Return the map from times of a rank (an index) to times of the timeline. */
fd_clock_map fd_export_clock_of(const fd_trace *trace,
                                const fd_export_options *options,
                                uint32_t rank);

/* Append "clock pingpong: offset 12 ns, drift -3 ppb, within 900 ns". */
void fd_export_clock_label(const fd_export_clock *clock, fd_buffer *to);

#endif
