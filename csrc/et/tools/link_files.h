/* The execution trace and the Kineto trace of a rank. */
#ifndef FD_LINK_FILES_H
#define FD_LINK_FILES_H

#include "et/tools/et_link.h"

/* Rank, process and time of a trace, if it states them. */
typedef struct fd_et_identity {
    uint64_t pid; /* 0: not known */
    int64_t rank; /* -1: not known */
    FD_VECTOR(uint32_t)
    members;          /* without a rank: the ranks that are in all
                                    process groups; none: not known */
    int64_t begin_ns; /* since 1970; 0: not known */
    int64_t end_ns;
    bool local; /* the times are those of an unknown time zone */
} fd_et_identity;

/* Clear it in any case. A trace lists only the process groups that contain its
 * rank: the rank is the one that is in all of them. */
fd_status fd_et_identity_of(fd_et_identity *identity, const fd_et *et);
void fd_et_identity_clear(fd_et_identity *identity);
fd_et_identity fd_et_identity_of_kineto(const fd_kineto *kineto);

/* FD_EFORMAT, with the difference, if the Kineto trace is of another rank,
 * process or time. */
fd_status fd_et_compare_identity(const fd_et_identity *et,
                                 const fd_et_identity *kineto,
                                 const char *path, fd_error *error);

typedef struct fd_et_link_options {
    uint32_t kinds; /* of edges */
    bool forced;    /* accept files of different ranks, processes or times */
} fd_et_link_options;

/* Read both files, check and link them. Clear `et` in any case. FD_EFORMAT:
 * the files are not of the same rank and run. */
fd_status fd_et_link_files(fd_et *et, const char *path, const char *kineto,
                           fd_et_link_options options, fd_et_link *link,
                           fd_kineto *read, fd_error *error);

/* The identity of a file of any kind. Clear it in any case. */
fd_status fd_et_read_identity(const char *path, fd_et_identity *identity,
                              fd_error *error);

#endif
