/* Protocol-buffer wire format, as much as a trace needs.
 * https://protobuf.dev/programming-guides/encoding/ */
#ifndef FD_PROTO_H
#define FD_PROTO_H

#include "base/buffer.h"

#include <string.h>

enum { FD_PROTO_VARINT = 0, FD_PROTO_FIXED64 = 1, FD_PROTO_BYTES = 2 };

/* For small messages in memory that is large enough: 10 bytes a number, and as
 * many a tag. They answer where the next byte goes. */
static inline uint8_t *
fd_proto_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *
fd_proto_put_field(uint8_t *at, uint32_t field, uint64_t value)
{
    return fd_proto_put(fd_proto_put(at, field << 3 | FD_PROTO_VARINT), value);
}

/* For the others. */
void fd_proto_number(fd_buffer *to, uint32_t field, uint64_t value);
void fd_proto_bytes(fd_buffer *to, uint32_t field, const void *bytes,
                    size_t size);
void fd_proto_text(fd_buffer *to, uint32_t field, const char *text);

/* `message` becomes a field of `to`, and is empty afterwards. */
void fd_proto_message(fd_buffer *to, uint32_t field, fd_buffer *message);

#endif
