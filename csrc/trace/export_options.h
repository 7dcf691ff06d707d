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
    FD_WEIGHT_GPU,  /* only flame graphs */
    FD_WEIGHT_FLOPS /* the same */
} fd_export_weight;

typedef enum fd_export_ops {
    FD_OPS_NONE,
    FD_OPS_TOP, /* those that Python calls, without those below them */
    FD_OPS_ALL
} fd_export_ops;

/* Timelines: slices whose names contain their duration. */
typedef enum fd_export_durations {
    FD_DURATIONS_JOBS,
    FD_DURATIONS_NAME, /* all */
    FD_DURATIONS_ARGS  /* none */
} fd_export_durations;

/* Globs: '*' any text, '?' one character, everything else (brackets too: they
 * are part of a key) itself. They match whole keys and whole package names. */
typedef struct fd_export_globs {
    const char *const *list; /* borrowed */
    size_t count;
} fd_export_globs;

/* The map from the clock of a rank to the common clock. */
typedef struct fd_export_clock {
    fd_clock_map map;
    const char *method;     /* static */
    int64_t uncertainty_ns; /* or FD_CLOCK_UNKNOWN */
    bool has_residual;
    int64_t residual_ns; /* against the next best method */
    uint64_t violations; /* effects earlier than their causes */
} fd_export_clock;

typedef struct fd_export_options {
    int rank; /* index into trace->ranks, or FD_ALL_RANKS */
    fd_export_style style;
    fd_export_weight weight;
    fd_export_ops ops;
    fd_export_globs hide;     /* deleted, with the edges at them */
    fd_export_globs contract; /* joined: their callees go to their callers */
    double min_percent;       /* of the time; functions below are folded.
                           Negative: a default */
    bool all;                 /* nothing is folded */
    uint32_t leaves; /* pictures: boxes without callees on a line; 0: a
                        default */
    const fd_export_clock *clocks; /* timelines: borrowed; by index of rank;
                                      NULL: one host, or the wall clock */
    int64_t clocks_base_ns;        /* with clocks: the origin of time, since
                                      1970 */
    fd_export_durations durations;
    bool no_flows;                        /* timelines: no arrows */
    const struct fd_transfers *transfers; /* borrowed; of more ranks than the
                                             trace has; NULL: of the trace */
} fd_export_options;

typedef fd_status fd_export(const fd_trace *trace,
                            const fd_export_options *options, fd_buffer *to,
                            fd_error *error);

/* "ranks":[{"rank":0,"align":"reference",...},...]: how the clocks were
 * aligned. */
void fd_export_write_clocks(const fd_trace *trace,
                            const fd_export_options *options,
                            fd_json_writer *w);

/* From times of a rank (its index) to those of a timeline. */
fd_clock_map fd_export_clock_of(const fd_trace *trace,
                                const fd_export_options *options,
                                uint32_t rank);

/* "clock pingpong: offset 12 ns, drift -3 ppb, within 900 ns", appended. */
void fd_export_clock_label(const fd_export_clock *clock, fd_buffer *to);

#endif
