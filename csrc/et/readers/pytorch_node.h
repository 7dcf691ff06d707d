/* One node of PyTorch's JSON. */
#ifndef FD_PYTORCH_NODE_H
#define FD_PYTORCH_NODE_H

#include "et/et_graph.h"
#include "json/json_scan.h"

/* Scan one object and add its node. FD_SCAN_BAD without an id or for invalid
 * JSON: nothing is added. Spans of `scan` are not used afterwards. */
fd_scan_result fd_et_scan_node(fd_scan *scan, fd_et *et);

/* Read a number; counts a fault for any other value. For the head of a trace,
 * too. */
bool fd_et_take_number(fd_et *et, fd_span value, int64_t *number);
fd_status fd_et_take_text(fd_et *et, const fd_scan *scan, fd_span value,
                          uint32_t *text);

#endif
