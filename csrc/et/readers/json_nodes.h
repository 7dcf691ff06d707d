/* Single nodes of execution traces in JSON. */
#ifndef FD_JSON_NODES_H
#define FD_JSON_NODES_H

#include "et/et_graph.h"
#include "json/json_scan.h"

/* Scan one object and add its node. FD_SCAN_BAD without an id or for invalid
 * JSON: nothing is added. Spans of `scan` are not used afterwards. */
fd_scan_result fd_et_scan_node(fd_scan *scan, fd_et *et);

/* The same for the JSON form that Chakra's feeder reads. */
fd_scan_result fd_et_scan_workload(fd_scan *scan, fd_et *et);

/* Read a number; counts a fault for any other value. For the head of a trace,
 * too. */
bool fd_et_take_number(fd_et *et, fd_span value, int64_t *number);
fd_status fd_et_take_text(fd_et *et, const fd_scan *scan, fd_span value,
                          uint32_t *text);

#endif
