/* Match of operators of a Kineto trace that has no "Record function id"
 * (PyTorch before 2.2) with an execution trace, by names and order. */
#ifndef FD_LINK_BY_ORDER_H
#define FD_LINK_BY_ORDER_H

#include "et/readers/kineto_reader.h"

/* Set `index` of the matched operators. Do nothing if an operator has a
 * number. The order of `kineto->ops` changes. */
fd_status fd_et_link_by_order(const fd_et *et, fd_kineto *kineto);

#endif
