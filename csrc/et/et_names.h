/* Facts from names and lists of values: roots, communication, tensors. */
#ifndef FD_ET_NAMES_H
#define FD_ET_NAMES_H

#include "et/et_graph.h"
#include "json/json_scan.h"

/* Return FD_ET_THREAD, FD_ET_PROCESS, or 0 if the name is not that of a
 * root. */
uint8_t fd_et_root(const char *name);

/* Find the next tensor, advance to its values and set its storage. */
bool fd_et_next_storage(fd_span *values, uint64_t *storage);

#endif
