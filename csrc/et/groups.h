/* Process groups, as a trace lists them. */
#ifndef FD_ET_GROUPS_H
#define FD_ET_GROUPS_H

#include "et/graph.h"
#include "io/json_scan.h"

/* From a list [{"pg_name": ..., "ranks": [...]}, ...]; those known already are
 * left out. What is no such list adds nothing. */
fd_status fd_et_add_groups(fd_et *et, fd_span list);

/* From the label in which PyTorch writes them. */
fd_status fd_et_find_groups(fd_et *et);

#endif
