/* The slices of the traces of many ranks, as rows in batches. The files of a
 * rank are read two or more times; none is kept in memory. */
#ifndef FD_SLICE_TABLES_H
#define FD_SLICE_TABLES_H

#include "events/merge_request.h"
#include "events/stats/process_facts.h"
#include "events/stats/slice_reader.h"

enum { FD_SLICE_ROWS = 1 << 16 /* maximum of a batch */ };

/* What follows a pass over the files of a rank. */
typedef enum fd_slices_next {
    FD_SLICES_AGAIN, /* another pass */
    FD_SLICES_FULL,  /* a last pass, also with arguments about GPUs */
    FD_SLICES_DONE,
    FD_SLICES_STOP /* an error: end with FD_EINVAL */
} fd_slices_next;

/* The end of a pass over the files of a rank. */
typedef struct fd_slices_pass {
    const fd_process_table *processes;
    const char *path; /* of the last file */
    uint32_t rank;    /* of the files, unless the names of processes differ */
    uint32_t files;
    uint64_t lost; /* damaged regions */
} fd_slices_pass;

typedef struct fd_slices_request {
    uint64_t total; /* bytes of all files */
    /* Called with slices of the file with this index, on the common clock.
     * `full`: in the last pass. Returning false stops it with FD_EINVAL, as for
     * `progress`. */
    bool (*take)(void *context, const fd_slice *rows, uint32_t count,
                 uint32_t file, bool full);
    /* Called after each pass except the last. */
    fd_slices_next (*next)(void *context, const fd_slices_pass *pass);
    /* Called from time to time with the number of bytes read and the total;
     * may be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_slices_request;

/* Read the slices of inputs as for a merge; those of the same rank are read
 * together. The texts of `slices` are used by all rows; clear it also after a
 * failure. FD_EFORMAT: an input is not a trace. */
fd_status fd_slice_tables_read(const fd_slices_request *request,
                               fd_timeline_input *inputs, uint32_t count,
                               fd_timeline_slices *slices, fd_error *error);

#endif
