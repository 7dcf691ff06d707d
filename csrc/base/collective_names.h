/* Communication operations, recognized in names of calls, ranges and
 * kernels. */
#ifndef FD_COLLECTIVE_NAMES_H
#define FD_COLLECTIVE_NAMES_H

#include <stddef.h>

typedef enum fd_operation {
    FD_OPERATION_NONE, /* unknown */
    FD_ALL_REDUCE,
    FD_ALL_GATHER,
    FD_REDUCE_SCATTER,
    FD_ALL_TO_ALL,
    FD_BROADCAST,
    FD_REDUCE,
    FD_GATHER,
    FD_SCATTER,
    FD_SEND,
    FD_RECEIVE,
    FD_REDUCE_SCATTER_BLOCK,
    FD_BARRIER,
    FD_SEND_RECEIVE, /* a kernel that combines sends and receives */
    FD_OPERATIONS
} fd_operation;

/* Return the first operation that occurs in a name. Case and '_' are ignored,
 * so that AllReduce_Sum, all_reduce and allreduce_ are equal. */
fd_operation fd_operation_of(const char *name, size_t size);

#endif
