/* The wire format of protocol buffers, as far as traces need it.
 * https://protobuf.dev/programming-guides/encoding/ */
#ifndef FD_PROTOBUF_H
#define FD_PROTOBUF_H

#include "base/buffer.h"

#include <stdbool.h>
#include <string.h>

enum {
    FD_PROTO_VARINT = 0,
    FD_PROTO_FIXED64 = 1,
    FD_PROTO_BYTES = 2,
    FD_PROTO_FIXED32 = 5
};

/* For small messages, in memory of sufficient size: 10 bytes per number and 10
 * per tag. Return the position after the written bytes. */
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

/* Append fields to messages of any size. */
void fd_proto_number(fd_buffer *to, uint32_t field, uint64_t value);
void fd_proto_bytes(fd_buffer *to, uint32_t field, const void *bytes,
                    size_t size);
void fd_proto_text(fd_buffer *to, uint32_t field, const char *text);

/* Append eight bytes, little-endian: a double or a fixed-size number. */
void fd_proto_fixed(fd_buffer *to, uint32_t field, const void *eight);

/* Make a field of the bytes from offset `from` on: insert its tag and length
 * before them. */
void fd_proto_wrap(fd_buffer *to, uint32_t field, size_t from);

/* Append `message` as a field of `to`, and clear `message`. */
void fd_proto_message(fd_buffer *to, uint32_t field, fd_buffer *message);

typedef struct fd_proto_field {
    uint32_t number;
    uint32_t wire;
    uint64_t value;    /* of a number field */
    const char *bytes; /* of an FD_PROTO_BYTES field */
    size_t size;
} fd_proto_field;

/* Reader of a message in memory, field by field. */
typedef struct fd_proto_reader {
    const char *at;
    const char *end;
    bool bad; /* truncated within a field, or malformed */
} fd_proto_reader;

static inline fd_proto_reader
fd_proto_read(const char *bytes, size_t size)
{
    return (fd_proto_reader){bytes, bytes + size, false};
}

/* Read a number of at most ten bytes. Return false if it does not end before
 * `end`. */
bool fd_proto_long_varint(const char **at, const char *end, uint64_t *value);

static inline bool
fd_proto_varint(const char **at, const char *end, uint64_t *value)
{
    if (*at < end && (unsigned char)**at < 0x80) {
        *value = (unsigned char)*(*at)++;
        return true;
    }
    return fd_proto_long_varint(at, end, value);
}

/* Read the content of a field that is not a number. */
bool fd_proto_content(fd_proto_reader *reader, fd_proto_field *field);

/* Read the next field. Return false at the end and at a malformed field. */
static inline bool
fd_proto_next(fd_proto_reader *reader, fd_proto_field *field)
{
    uint64_t tag;
    if (reader->at >= reader->end || reader->bad) {
        return false;
    }
    reader->bad = true;
    if (!fd_proto_varint(&reader->at, reader->end, &tag) || tag > UINT32_MAX
        || tag >> 3 == 0) {
        return false;
    }
    field->number = (uint32_t)(tag >> 3);
    field->wire = (uint32_t)tag & 7;
    field->bytes = "";
    field->size = 0;
    reader->bad = field->wire == FD_PROTO_VARINT
                    ? !fd_proto_varint(&reader->at, reader->end, &field->value)
                    : !fd_proto_content(reader, field);
    return !reader->bad;
}

#endif
