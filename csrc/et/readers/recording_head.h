/* Facts of a recording about its process. */
#ifndef FD_RECORDING_HEAD_H
#define FD_RECORDING_HEAD_H

#include "et/et_graph.h"
#include "trace/reader/file_chunks.h"

static inline fd_span
fd_string_span(const fd_string *string)
{
    return (fd_span){string->bytes, string->bytes + string->size};
}

/* Set rank, world, host, times and process groups. */
void fd_et_put_recording_head(fd_et *et, const fd_chunks *file);

#endif
