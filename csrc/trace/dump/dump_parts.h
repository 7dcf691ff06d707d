/* The top level of a dump: positions of its parts in the file. One part is in
 * memory at a time, and one rank of a merge at a time. */
#ifndef FD_DUMP_PARTS_H
#define FD_DUMP_PARTS_H

#include "base/vector.h"
#include "streams/input_stream.h"
#include "json/json_scan.h"

enum {
    FD_DUMP_FORMAT,
    FD_DUMP_VERSION,
    FD_DUMP_STRINGS,
    FD_DUMP_NODES,
    FD_DUMP_MODULES,
    FD_DUMP_CONTEXTS,
    FD_DUMP_RANKS, /* absent if it is an array; see fd_dump_parts.ranks */
    FD_DUMP_PARTS
};

/* The position of a value in the file; 0 bytes: absent. */
typedef struct fd_dump_part {
    uint64_t at;
    size_t size;
} fd_dump_part;

typedef struct fd_dump_parts {
    fd_bytes_in in;
    fd_dump_part parts[FD_DUMP_PARTS];
    FD_VECTOR(fd_dump_part) ranks;
    bool has_ranks;
} fd_dump_parts;

/* Check that the file is JSON and find its parts; an array has no parts. Close
 * it also after a failure. */
fd_status fd_dump_parts_open(fd_dump_parts *parts, const char *path,
                             fd_error *error);
void fd_dump_parts_close(fd_dump_parts *parts);

/* Read the text of a part, valid until the next call; empty if it is
 * absent. */
fd_status fd_dump_parts_read(fd_dump_parts *parts, fd_dump_part part,
                             fd_span *text);

#endif
