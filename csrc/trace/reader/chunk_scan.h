/* Search, check and copy of the chunks of an open recording. */
#ifndef FD_CHUNK_SCAN_H
#define FD_CHUNK_SCAN_H

#include "trace/reader/chunk_list.h"

/* Copy bytes of the file or of the memory, and return how many; fewer at its
 * end. */
size_t fd_chunks_take(const fd_chunks *chunks, void *to, size_t size,
                      size_t offset);

/* Find the chunks. The header must be in `base`. FD_ENOMEM is the only
 * failure. */
fd_status fd_chunks_scan(fd_chunks *chunks);

#endif
