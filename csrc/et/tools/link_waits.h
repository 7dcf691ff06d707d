/* Waits for kernels: of threads that synchronise, and of streams for an
 * event. */
#ifndef FD_LINK_WAITS_H
#define FD_LINK_WAITS_H

#include "et/readers/kineto_reader.h"

/* Kernels must have places. An edge to a thread ends at its first node after
 * the call: the caller of the call may have launched the kernel itself. */
fd_status fd_et_find_waits(fd_et *et, const fd_kineto *kineto);

#endif
