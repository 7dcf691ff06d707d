/* A native Perfetto trace, packet by packet: plain, gzip, or with packets that
 * are packed within packets. */
#ifndef FD_PERFETTO_PACKETS_H
#define FD_PERFETTO_PACKETS_H

#include "streams/input_stream.h"
#include "streams/protobuf.h"

/* Maximum of bytes of unpacked packets within a packet. */
enum { FD_PACKETS_UNPACKED = 16 << 20 };

typedef struct fd_packets {
    fd_bytes_in in;
    const char *bytes; /* of the packet, valid until the next */
    size_t size;
    fd_buffer unpacked; /* packets that were within one ... */
    size_t taken;       /* ... and how many bytes of them were read */
    uint64_t lost;      /* damaged places */
    uint64_t lost_bytes;
    char trouble[96]; /* the first one, in words; "" */
    fd_status status; /* FD_ENOMEM after a failed allocation */
} fd_packets;

/* Close it in any case. */
fd_status fd_packets_open(fd_packets *packets, const char *path,
                          fd_error *error);
void fd_packets_close(fd_packets *packets);

/* False at the end: of the file, or of what is whole of it. */
bool fd_packets_next(fd_packets *packets);

/* Count the packet as malformed. */
void fd_packets_bad(fd_packets *packets);

#endif
