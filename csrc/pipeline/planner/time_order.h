/* Indices in the order of their times; equal times in the order of indices. */
#ifndef FD_TIME_ORDER_H
#define FD_TIME_ORDER_H

#include "base/status.h"

#include <stdint.h>

fd_status fd_time_order(uint32_t *order, const double *times, uint32_t count);

#endif
