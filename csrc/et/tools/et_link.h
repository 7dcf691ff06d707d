/* Link of an execution trace with the Kineto trace of the same rank: operators
 * get times and threads, kernels become nodes, synchronisation becomes edges.
 * The key is "Record function id", and names must be equal. Traces without
 * this id are matched by name and order. */
#ifndef FD_ET_LINK_H
#define FD_ET_LINK_H

#include "et/readers/kineto_reader.h"

typedef struct fd_et_link {
    uint64_t linked;      /* operators in both */
    uint64_t only_et;     /* nodes without an operator in Kineto */
    uint64_t only_kineto; /* operators without a node */
    uint64_t by_order;    /* matched by name and order, without numbers */
    uint64_t unnumbered;  /* operators of Kineto without a number */
    uint64_t renamed;     /* equal numbers, but different names: not linked */
    uint64_t again;       /* operators with the same number as an earlier
                           * one */
    uint64_t kernels;
    uint64_t by_external; /* kernels without a launch, linked by "External
                           * id" */
    uint64_t alone;       /* kernels with neither a launch nor an operator */
    char example[200];    /* message about the first renamed operator, or "" */
} fd_et_link;

/* Link the traces. `et` must be finished. Afterwards its nodes are sorted by
 * time, with ids from 1 on and edges of events and synchronisation. Call
 * fd_et_complete next. FD_ENOMEM: clear `et`. */
fd_status fd_et_link_kineto(fd_et *et, fd_kineto *kineto, fd_et_link *link);

/* Add the edges of waits for kernels: of threads that synchronise, and of
 * streams for an event. Kernels must have indexes. An edge to a thread ends at
 * the first node of the thread after the waiting call, since the operator
 * around the call may have launched the kernel itself. */
void fd_et_find_waits(fd_et *et, const fd_kineto *kineto);

/* Match the operators of a Kineto trace that has no "Record function id"
 * (PyTorch before 2.2), by names and order, and set their `index`. Do nothing
 * if an operator has a number. The order of `kineto->ops` changes. */
void fd_et_link_by_order(fd_et *et, fd_kineto *kineto);

#endif
