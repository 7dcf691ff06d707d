/* An execution trace from a Kineto trace alone: its operators nested by their
 * times, and its kernels. It has no tensors, no schemas and no dependencies of
 * data. */
#ifndef FD_FROM_KINETO_H
#define FD_FROM_KINETO_H

#include "et/et_graph.h"

/* Call fd_et_complete next. Clear `et` in any case. FD_EFORMAT: no events, or
 * no operators and kernels. */
fd_status fd_et_from_kineto(fd_et *et, const char *path, fd_error *error);

#endif
