#include "export/proto.h"

enum { LONGEST = 10 }; /* bytes of a number */

void
fd_proto_number(fd_buffer *to, uint32_t field, uint64_t value)
{
    uint8_t bytes[2 * LONGEST];
    uint8_t *end = fd_proto_put_field(bytes, field, value);
    fd_buffer_bytes(to, bytes, (size_t)(end - bytes));
}

void
fd_proto_bytes(fd_buffer *to, uint32_t field, const void *bytes, size_t size)
{
    uint8_t head[2 * LONGEST];
    uint8_t *end = fd_proto_put(
        fd_proto_put(head, field << 3 | FD_PROTO_BYTES), size);
    fd_buffer_bytes(to, head, (size_t)(end - head));
    fd_buffer_bytes(to, bytes, size);
}

void
fd_proto_text(fd_buffer *to, uint32_t field, const char *text)
{
    fd_proto_bytes(to, field, text, strlen(text));
}

void
fd_proto_message(fd_buffer *to, uint32_t field, fd_buffer *message)
{
    if (message->status != FD_OK && to->status == FD_OK) {
        to->status = message->status;
    }
    fd_proto_bytes(to, field, message->bytes, message->size);
    message->size = 0;
}
