/* Facts from names and lists of values: roots, communication, tensors. */
#ifndef FD_ET_NAMES_H
#define FD_ET_NAMES_H

#include "et/et_graph.h"
#include "json/json_scan.h"

/* Chakra's numbers of collectives. */
typedef enum fd_et_coll {
    FD_ET_ALL_REDUCE,
    FD_ET_REDUCE,
    FD_ET_ALL_GATHER,
    FD_ET_GATHER,
    FD_ET_SCATTER,
    FD_ET_BROADCAST,
    FD_ET_ALL_TO_ALL,
    FD_ET_REDUCE_SCATTER,
    FD_ET_REDUCE_SCATTER_BLOCK,
    FD_ET_BARRIER,
    FD_ET_COLLS
} fd_et_coll;

/* The layer of a node of a communication. A kernel is below the call that
 * launched it. */
typedef enum fd_et_comm_level {
    FD_ET_NO_COMM,
    FD_ET_COMM_CALL,   /* c10d::... */
    FD_ET_COMM_PARAMS, /* record_param_comms */
    FD_ET_COMM_WORK,   /* gloo:..., nccl:..., ucc:..., mpi:... */
    FD_ET_COMM_KERNEL  /* on the GPU */
} fd_et_comm_level;

/* Return FD_ET_THREAD, FD_ET_PROCESS, or 0 if the name is not that of a
 * root. */
uint8_t fd_et_root(const char *name);

fd_et_comm_level fd_et_comm_level_of(const char *name, bool gpu);

/* Return the type of a call by its name: FD_ET_COLL with `*coll` (-1: an
 * unknown kind), FD_ET_SEND, FD_ET_RECV, or FD_ET_COMP without
 * communication. */
fd_et_type fd_et_comm_type(const char *name, int32_t *coll);

/* Sum the bytes of the tensors in a list of values of PyTorch; return false if
 * it has no tensors. */
bool fd_et_tensor_bytes(fd_span values, uint64_t *bytes);

/* A tensor, without its device. */
typedef struct fd_et_tensor {
    uint64_t id;
    uint64_t storage;
    uint64_t offset;
    uint64_t elements;
    uint64_t item;
} fd_et_tensor;

/* Find the next tensor and advance to its values. */
bool fd_et_next_tensor(fd_span *values, fd_et_tensor *tensor);

#endif
