/* A small valid dump, in which one text can be replaced. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include "fixtures.h"

/* Load the document after replacing the only occurrence of `from` by `to`
 * (NULL: nothing). The message does not contain the name of the file. */
fd_status document_load(const char *from, const char *to, fd_trace **trace,
                        fd_error *error);

/* A replacement that makes the document invalid, and how the error begins. */
typedef struct document_fault {
    const char *from;
    const char *to;
    const char *message;
} document_fault;

/* The number of them that are not refused with their message. */
size_t documents_accepted(const document_fault *faults, size_t count);

#endif
