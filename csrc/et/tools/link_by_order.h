/* Operators of a Kineto trace without "Record function id", as written by
 * PyTorch before 2.2, found in an execution trace by their names and order. */
#ifndef FD_LINK_BY_ORDER_H
#define FD_LINK_BY_ORDER_H

#include "et/readers/kineto_reader.h"

/* Set `place` of the matched operators. Does nothing if an operator has a
 * number. Changes the order of `kineto->ops`. */
fd_status fd_et_link_by_order(const fd_et *et, fd_kineto *kineto);

#endif
