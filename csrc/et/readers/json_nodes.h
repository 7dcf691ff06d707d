/* Single nodes of execution traces in JSON. */
#ifndef FD_JSON_NODES_H
#define FD_JSON_NODES_H

#include "et/et_graph.h"
#include "json/json_scan.h"

/* Scan one object and add its node. FD_SCAN_BAD for a missing id or invalid
 * JSON: no node is added. Spans of `scan` are not used afterwards. */
fd_scan_result fd_et_scan_node(fd_scan *scan, fd_et *et);

/* Read a number; count a fault for any other value. Also used for the header
 * of a trace. */
bool fd_et_take_number(fd_et *et, fd_span value, int64_t *number);
/* Count the repairs of a value: NaN and Infinity, which other readers accept,
 * apart from the others. */
void fd_et_count_repairs(fd_et *et, const fd_scan *scan);
/* Add a JSON string, repaired if necessary; return 0 for null. */
uint32_t fd_et_take_text(fd_et *et, const fd_scan *scan, fd_span value);

#endif
