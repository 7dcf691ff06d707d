/* Waits for kernels: of threads that synchronise, and of streams for an
 * event. */
#ifndef FD_LINK_WAITS_H
#define FD_LINK_WAITS_H

#include "et/readers/kineto_reader.h"

/* Add the edges. Kernels must have indexes. An edge to a thread ends at the
 * first node of the thread after the waiting call, since the operator around
 * the call may have launched the kernel itself. */
fd_status fd_et_find_waits(fd_et *et, const fd_kineto *kineto);

#endif
