/* The texts of a trace in canonical order. */
#ifndef FD_CANONICAL_TEXTS_H
#define FD_CANONICAL_TEXTS_H

#include "trace/trace.h"

/* Remove unreferenced texts and number the others in the order of their
 * bytes. */
fd_status fd_sort_texts(fd_trace *trace);

#endif
