/* The JSON form that Chakra's feeder reads instead of a .et. */
#ifndef FD_WORKLOAD_WRITER_H
#define FD_WORKLOAD_WRITER_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

fd_status fd_et_write_workload(const fd_et *et, fd_bytes_out *out,
                               fd_error *error);

#endif
