/* Facts from names and lists of values: roots, communication, tensors. */
#ifndef FD_ET_NAMES_H
#define FD_ET_NAMES_H

#include "et/et_graph.h"
#include "json/json_scan.h"

/* Return FD_ET_THREAD, FD_ET_PROCESS, or 0 if the name is not that of a
 * root. */
uint8_t fd_et_root(const char *name);

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
