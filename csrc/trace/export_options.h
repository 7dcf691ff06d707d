/* Options of exporters: ranks, clocks, names of slices. */
#ifndef FD_EXPORT_OPTIONS_H
#define FD_EXPORT_OPTIONS_H

#include "clocks/clock_map.h"
#include "trace/trace.h"
#include "json/json_writer.h"

/* Timelines: slices that have their duration in the name. */
typedef enum fd_export_durations {
    FD_DURATIONS_JOBS,
    FD_DURATIONS_NAME, /* all slices */
    FD_DURATIONS_ARGS  /* no slices */
} fd_export_durations;

typedef struct fd_export_options {
    int rank; /* index into trace->ranks, or FD_ALL_RANKS */
    /* timelines: borrowed; by index of the rank; NULL: ranks of one host, or
     * use the wall clock */
    const fd_rank_clock *clocks;
    int64_t clocks_base_ns; /* with clocks: real time of time 0, since
                                    * 1970 */
    fd_export_durations durations;
    bool no_flows; /* timelines: omit flows */
    /* timelines: borrowed; by index of the rank, the flows of a pipeline;
     * NULL: they are not drawn */
    const struct fd_transfers *transfers;
} fd_export_options;

typedef fd_status fd_export(const fd_trace *trace,
                            const fd_export_options *options, fd_buffer *to,
                            fd_error *error);

/* Write how a clock was aligned, as members of an object. */
void fd_export_write_clock(fd_json_writer *w, const fd_rank_clock *clock);

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
void fd_export_clock_label(const fd_rank_clock *clock, fd_buffer *to);

#endif
