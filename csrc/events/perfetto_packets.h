/* A native Perfetto trace, packet by packet: uncompressed, gzip, or with
 * compressed packets inside packets. */
#ifndef FD_PERFETTO_PACKETS_H
#define FD_PERFETTO_PACKETS_H

#include "streams/input_stream.h"
#include "streams/protobuf.h"

/* Maximum number of bytes of the decompressed packets inside one packet. */
enum { FD_PACKETS_UNPACKED = 16 << 20 };

typedef struct fd_packets {
    fd_bytes_in in;
    const char *bytes; /* content of the packet, valid until the next one is
                        * read */
    size_t size;
    fd_buffer unpacked; /* the decompressed packets of one packet ... */
    size_t taken;       /* ... and the number of their bytes already read */
    uint64_t lost;      /* number of damaged regions */
    uint64_t lost_bytes;
    char trouble[96]; /* message about the first damage, or "" */
    fd_status status; /* FD_ENOMEM after a failed allocation */
} fd_packets;

/* Open a file. Close it also after a failure. */
fd_status fd_packets_open(fd_packets *packets, const char *path,
                          fd_error *error);
void fd_packets_close(fd_packets *packets);

/* Read the next packet. Return false at the end of the file or of its readable
 * part. */
bool fd_packets_next(fd_packets *packets);

/* Count the current packet as malformed. */
void fd_packets_bad(fd_packets *packets);

#endif
