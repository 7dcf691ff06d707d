/* What a recording says of its process, and not of calls. */
#ifndef FD_ET_RECORDING_HEAD_H
#define FD_ET_RECORDING_HEAD_H

#include "et/graph.h"
#include "io/chunks.h"

/* Rank, world, host, times and process groups. */
fd_status fd_et_put_recording_head(fd_et *et, const fd_chunks *file);

#endif
