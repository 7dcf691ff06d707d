/* The summary of a trace. */
#ifndef FD_ET_SUMMARY_H
#define FD_ET_SUMMARY_H

#include "et/et_graph.h"
#include "et/et_names.h"

/* Sums over one kind of collective, or over messages. */
typedef struct fd_et_traffic {
    uint64_t count;
    uint64_t bytes;
    int64_t ns; /* from the first start to the last end, where times are
                 * known */
} fd_et_traffic;

typedef struct fd_et_summary {
    uint64_t types[FD_ET_TYPES];
    uint64_t edges[FD_ET_KINDS];
    uint64_t deps; /* number of pairs: an edge can have several kinds */
    uint64_t cpu;
    uint64_t gpu;
    uint64_t operators; /* nodes with a schema or with a name of an operator */
    uint64_t threads;
    uint64_t streams;
    uint64_t timed;   /* nodes with times from the file */
    uint64_t guessed; /* nodes with derived times */
    uint64_t steps;   /* nodes named ProfilerStep#N */
    int64_t begin_ns;
    int64_t end_ns;
    /* collectives by Chakra's number, then unknown ones, sends, receives */
    fd_et_traffic traffic[FD_ET_COLLS + 3];
} fd_et_summary;

enum {
    FD_ET_TRAFFIC_OTHER = FD_ET_COLLS,
    FD_ET_TRAFFIC_SEND,
    FD_ET_TRAFFIC_RECV,
    FD_ET_TRAFFICS
};

const char *fd_et_traffic_name(int traffic);

fd_status fd_et_summarize(const fd_et *et, fd_et_summary *summary);

/* The calls of a recording as JSON, one per line, including forwards of
 * modules: the input of `pipeline profile`, which builds a graph of layers. */

/* Append one list per call, sorted by id: [id, id of the parent, name, schema,
 * scope, number of the record, autograd's number, thread, forward thread,
 * duration in ns (-1: it did not end), inputs, outputs]. Roots of threads are
 * omitted. */
fd_status fd_et_layer_calls(fd_buffer *to, const char *path, fd_error *error);

#endif
