/* The process groups of a trace. */
#ifndef FD_PROCESS_GROUP_TABLE_H
#define FD_PROCESS_GROUP_TABLE_H

#include "et/readers/et_operands.h"
#include "json/json_scan.h"

/* Add a list [{"pg_name": ..., "ranks": [...]}, ...]; known groups are
 * skipped. Any other value is ignored. */
void fd_et_add_groups(fd_et *et, fd_span list);

/* Add the groups from the label in which PyTorch writes them. */
void fd_et_find_groups(fd_et *et);

/* Add the attribute `pg_name` to a call of c10d, if its group is known. The
 * call must not have attributes yet. */
void fd_et_give_group(fd_et *et, fd_et_node *node, fd_words taken);

#endif
