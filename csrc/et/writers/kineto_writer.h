/* A recording's trace in the form of torch.profiler's (Kineto), for programs
 * that read that beside the execution trace: HTA, chakra_trace_link. */
#ifndef FD_KINETO_WRITER_H
#define FD_KINETO_WRITER_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Operators and ranges with their times, steps, arrows; kernels with their
 * launches, or one stand-in in each step that has none. */
fd_status fd_et_write_kineto(const fd_et *et, fd_bytes_out *out,
                             fd_error *error);

#endif
