/* The execution trace and the Kineto trace of a rank. */
#ifndef FD_LINK_FILES_H
#define FD_LINK_FILES_H

#include "et/tools/et_link.h"
#include "et/tools/trace_identity.h"

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
