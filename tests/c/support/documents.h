/* A small valid dump, in which one text can be replaced. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include "fixtures.h"

/* Load the document after replacing the only occurrence of `from` by `to`
 * (NULL: nothing). The message does not contain the name of the file. */
fd_status document_load(const char *from, const char *to, fd_trace **trace,
                        fd_error *error);

#endif
