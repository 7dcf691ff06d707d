#include "streams/protobuf.h"

enum { LONGEST = 10 }; /* maximum bytes of a number */

void
fd_proto_number(fd_buffer *to, uint32_t field, uint64_t value)
{
    uint8_t *at = (uint8_t *)fd_buffer_grow(to, 2 * LONGEST);
    if (at != NULL) {
        to->size += (size_t)(fd_proto_put_field(at, field, value) - at);
    }
}

void
fd_proto_bytes(fd_buffer *to, uint32_t field, const void *bytes, size_t size)
{
    uint8_t head[2 * LONGEST];
    uint8_t *end =
        fd_proto_put(fd_proto_put(head, field << 3 | FD_PROTO_BYTES), size);
    fd_buffer_bytes(to, head, (size_t)(end - head));
    fd_buffer_bytes(to, bytes, size);
}

void
fd_proto_text(fd_buffer *to, uint32_t field, const char *text)
{
    fd_proto_bytes(to, field, text, strlen(text));
}

void
fd_proto_fixed(fd_buffer *to, uint32_t field, const void *eight)
{
    uint8_t bytes[LONGEST + 8];
    uint64_t value;
    memcpy(&value, eight, sizeof value);
    uint8_t *end = fd_proto_put(bytes, field << 3 | FD_PROTO_FIXED64);
    for (int i = 0; i < 8; i++) {
        *end++ = (uint8_t)(value >> 8 * i);
    }
    fd_buffer_bytes(to, bytes, (size_t)(end - bytes));
}

void
fd_proto_wrap(fd_buffer *to, uint32_t field, size_t from)
{
    uint8_t head[2 * LONGEST];
    size_t size = to->size - from;
    uint8_t *end =
        fd_proto_put(fd_proto_put(head, field << 3 | FD_PROTO_BYTES), size);
    size_t added = (size_t)(end - head);
    if (fd_buffer_grow(to, added) != NULL) {
        memmove(to->bytes + from + added, to->bytes + from, size);
        memcpy(to->bytes + from, head, added);
        to->size += added;
    }
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

bool
fd_proto_long_varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && *at < end; shift += 7) {
        uint64_t byte = (unsigned char)*(*at)++;
        *value |= shift < 64 ? (byte & 0x7F) << shift : 0;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

static bool
read_fixed(fd_proto_reader *reader, fd_proto_field *field, int size)
{
    if (reader->end - reader->at < size) {
        return false;
    }
    field->value = 0;
    for (int i = 0; i < size; i++) {
        field->value |= (uint64_t)(unsigned char)*reader->at++ << 8 * i;
    }
    return true;
}

bool
fd_proto_content(fd_proto_reader *reader, fd_proto_field *field)
{
    switch (field->wire) {
    case FD_PROTO_FIXED64:
        return read_fixed(reader, field, 8);
    case FD_PROTO_FIXED32:
        return read_fixed(reader, field, 4);
    case FD_PROTO_BYTES:
        break;
    default:
        return false;
    }
    if (!fd_proto_varint(&reader->at, reader->end, &field->value)
        || field->value > (uint64_t)(reader->end - reader->at)) {
        return false;
    }
    field->bytes = reader->at;
    field->size = (size_t)field->value;
    reader->at += field->size;
    return true;
}
