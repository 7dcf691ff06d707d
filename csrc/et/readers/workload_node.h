/* One node of the JSON form that Chakra's feeder reads. */
#ifndef FD_WORKLOAD_NODE_H
#define FD_WORKLOAD_NODE_H

#include "et/et_graph.h"

/* Scan one object and add its node. FD_SCAN_BAD without an id or for invalid
 * JSON: nothing is added. */
fd_scan_result fd_et_scan_workload(fd_scan *scan, fd_et *et);

#endif
