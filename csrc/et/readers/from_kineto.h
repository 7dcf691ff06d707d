/* An execution trace from a Kineto trace alone: its operators with the calls
 * around them as their times have it, and its kernels. Tensors, schemas and what
 * depends on them are not in it. */
#ifndef FD_FROM_KINETO_H
#define FD_FROM_KINETO_H

#include "et/et_graph.h"

/* Then fd_et_complete. Clear `et` in any case. FD_EFORMAT: it has no events, or
 * none that ran. */
fd_status fd_et_from_kineto(fd_et *et, const char *path, fd_error *error);

#endif
