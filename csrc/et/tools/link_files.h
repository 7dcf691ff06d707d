/* Link of the files of an execution trace and a Kineto trace. */
#ifndef FD_LINK_FILES_H
#define FD_LINK_FILES_H

#include "et/tools/et_link.h"

/* Rank, process and time of a trace, if it states them. */
typedef struct fd_et_identity {
    uint64_t pid; /* 0: unknown */
    int64_t rank; /* -1: unknown */
    /* if the rank is unknown: the ranks that are in all process groups; empty:
     * unknown */
    FD_VECTOR(uint32_t) members;
    int64_t begin_ns; /* since 1970, in an execution trace since 1970 in its
                       * unknown time zone; 0: unknown */
    int64_t end_ns;
} fd_et_identity;

/* Find the identity of a trace. A trace lists only the process groups that
 * contain its rank, so the rank is the one that is in all of them. */
void fd_et_identity_of(fd_et_identity *identity, fd_et *et);

/* Return FD_EFORMAT, with a message about the difference, if the Kineto trace
 * is of another rank, process or time. */
fd_status fd_et_compare_identity(const fd_et_identity *et,
                                 const fd_et_identity *kineto,
                                 const char *path, fd_error *error);

typedef struct fd_et_link_options {
    uint32_t kinds; /* kinds of edges to add */
    bool forced;    /* accept files of different ranks, processes or times */
} fd_et_link_options;

/* Read both files, check that they are of the same rank and run (otherwise
 * FD_EFORMAT), and link them. Clear `et` also after a failure. */
fd_status fd_et_link_files(fd_et *et, const char *path, const char *kineto,
                           fd_et_link_options options, fd_et_link *link,
                           fd_kineto *read, fd_error *error);

/* Read the identity of a file of any format. Clear `et`, which owns the
 * members, also after a failure. */
fd_status fd_et_read_identity(fd_et *et, const char *path,
                              fd_et_identity *identity, fd_error *error);

#endif
