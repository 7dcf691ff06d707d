/* The measured figures of one thread: measure_table.h. */
#ifndef FD_MEASURE_ROWS_H
#define FD_MEASURE_ROWS_H

#include "base/map.h"
#include "recording/chunk_pool.h"
#include "recording/measures/measure_format.h"

typedef struct fd_measures {
    fd_pool pool; /* fd_measure */
    fd_map index; /* key -> place in the file / FD_ID_UNIT; UINT32_MAX: no room
                     */
    fd_map formulas;        /* writer: node -> whether it has one */
    uint32_t counted_depth; /* entry of the operator that was counted last */
    uint64_t counted;       /* its owner */
    fd_map paths;  /* writer: context -> number of its shapes, and bits */
    fd_map shapes; /* hash of context and operands -> as in `index` */
} fd_measures;

#endif
