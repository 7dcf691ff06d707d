/* The chunks of an open recording: found, checked, copied. Private to
 * chunks.c. */
#ifndef FD_CHUNK_SCAN_H
#define FD_CHUNK_SCAN_H

#include "trace/reader/file_chunks.h"

/* Copy bytes of the file or of the memory; fewer at its end. */
size_t fd_chunks_take(const fd_chunks *chunks, void *to, size_t size,
                      size_t offset);

/* Fill the list. The header is in its place. FD_ENOMEM is all that can
 * fail. */
fd_status fd_chunks_scan(fd_chunks *chunks);

#endif
