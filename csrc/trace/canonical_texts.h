/* Part of sorting a trace: its texts. */
#ifndef FD_CANONICAL_TEXTS_H
#define FD_CANONICAL_TEXTS_H

#include "trace/trace.h"

/* Drop unreferenced texts and number the others in the order of their
 * bytes. */
fd_status fd_sort_texts(fd_trace *trace);

#endif
