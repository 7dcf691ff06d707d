/* The trace of a recording in the format of torch.profiler (Kineto), for
 * programs that read it together with the execution trace: HTA,
 * chakra_trace_link. */
#ifndef FD_KINETO_WRITER_H
#define FD_KINETO_WRITER_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append operators and ranges with their times, steps and flows; kernels with
 * their launches, or one placeholder per step without kernels. */
fd_status fd_et_write_kineto(const fd_et *et, fd_bytes_out *out,
                             fd_error *error);

#endif
