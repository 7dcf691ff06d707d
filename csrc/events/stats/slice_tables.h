/* The slices of the traces of many ranks, as rows in batches. The files of a
 * rank are read twice; none is kept in memory. */
#ifndef FD_SLICE_TABLES_H
#define FD_SLICE_TABLES_H

#include "events/merge_request.h"
#include "events/tools/trace_outline.h"

enum { FD_SLICE_ROWS = 1 << 16 /* maximum of a batch */ };

typedef struct fd_slices_request {
    fd_align_inputs *align; /* as in a merge, like the next two */
    bool moments;
    bool starts;
    const uint32_t *ranks; /* selected ranks; NULL: all */
    size_t rank_count;
    /* Called before the first slice of the files of some ranks. `file`: the
     * last of them. `lost`: their damaged regions, if they have only one
     * rank. Returning false stops it with FD_EINVAL, as for the next two. */
    bool (*begin)(void *context, const fd_timeline_outline *outline,
                  const char *file, uint64_t lost);
    /* Called with slices of these files, on the common clock. */
    bool (*take)(void *context, const fd_slice *rows, uint32_t count);
    /* Called from time to time with the number of bytes read and the total;
     * may be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_slices_request;

typedef struct fd_slice_tables {
    bool has_base;
    int64_t base_ns;           /* real time at time 0 */
    fd_timeline_slices slices; /* its texts are used by all rows */
    uint64_t steps_lost;
} fd_slice_tables;

void fd_slice_tables_clear(fd_slice_tables *tables);

/* Read the slices. The caller sets path and rank of each input, as for a
 * merge. A recording and another trace of the same rank are read together.
 * FD_ECONFLICT: another duplicate rank. FD_EFORMAT: no input is a trace. */
fd_status fd_slice_tables_read(const fd_slices_request *request,
                               fd_timeline_input *inputs, uint32_t count,
                               fd_slice_tables *tables, fd_error *error);

#endif
