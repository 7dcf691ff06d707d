#include "events/perfetto_packets.h"

#include "base/budget.h"
#include "events/recorded/perfetto_fields.h"
#include "streams/zlib_memory.h"

#include <stdio.h>

enum { HEAD = 20 /* longest tag and length */, PART = 1 << 16 };

fd_status
fd_packets_open(fd_packets *p, const char *path, fd_error *error)
{
    *p = (fd_packets){.bytes = ""};
    return fd_bytes_in_open(&p->in, path, error);
}

void
fd_packets_close(fd_packets *p)
{
    fd_bytes_in_close(&p->in);
    fd_buffer_clear(&p->unpacked);
}

static void
lose(fd_packets *p, const char *what, uint64_t bytes)
{
    p->lost++;
    p->lost_bytes += bytes;
    if (p->trouble[0] == '\0') {
        snprintf(p->trouble, sizeof p->trouble, "%s before byte %llu", what,
                 (unsigned long long)fd_bytes_in_offset(&p->in, p->in.at));
    }
}

void
fd_packets_bad(fd_packets *p)
{
    lose(p, "malformed packet", p->size);
}

/* Count the rest of the file as lost: the next packet cannot be found. */
static bool
lose_rest(fd_packets *p, const char *what)
{
    uint64_t from = fd_bytes_in_offset(&p->in, p->in.at);
    what = p->in.trouble != NULL ? p->in.trouble : what;
    do {
        p->in.at = p->in.end;
    } while (fd_bytes_in_more(&p->in));
    p->status = p->in.status;
    lose(p, p->in.trouble != NULL ? p->in.trouble : what,
         fd_bytes_in_offset(&p->in, p->in.end) - from);
    return false;
}

/* Make `size` bytes available in memory; return false if the file
 * ends before. */
static bool
have(fd_packets *p, size_t size)
{
    while ((size_t)(p->in.end - p->in.at) < size) {
        if (!fd_bytes_in_more(&p->in)) {
            return false;
        }
    }
    return true;
}

static bool
skip(fd_packets *p, uint64_t size)
{
    while ((uint64_t)(p->in.end - p->in.at) < size) {
        size -= (uint64_t)(p->in.end - p->in.at);
        p->in.at = p->in.end;
        if (!fd_bytes_in_more(&p->in)) {
            return false;
        }
    }
    p->in.at += size;
    return true;
}

/* Read the next field of the file. If it is a packet, `p->bytes` is its
 * content. */
static bool
next_field(fd_packets *p, bool *is_packet)
{
    uint64_t tag;
    uint64_t size = 0;
    *is_packet = false;
    have(p, HEAD);
    p->status = p->in.status;
    const char *at = p->in.at;
    if (at == p->in.end) {
        return p->in.trouble == NULL ? false : lose_rest(p, "");
    }
    bool whole = fd_proto_varint(&at, p->in.end, &tag)
              && fd_proto_varint(&at, p->in.end, &size);
    if (!whole) {
        return lose_rest(p, "cut short");
    }
    if ((tag & 7) == FD_PROTO_VARINT && tag >> 3 != 0) {
        p->in.at = at;
        return true;
    }
    if ((tag & 7) != FD_PROTO_BYTES || tag >> 3 == 0) {
        return lose_rest(p, "no packet");
    }
    p->in.at = at;
    if (tag >> 3 != FD_PB_TRACE_PACKET
        || size > fd_budget(FD_BYTES_IN_MOST) / 2) {
        if (tag >> 3 == FD_PB_TRACE_PACKET) {
            lose(p, "a packet of more than 8 MB", size);
        }
        return skip(p, size) || lose_rest(p, "cut short");
    }
    if (!have(p, (size_t)size)) {
        return lose_rest(p, "cut short");
    }
    p->bytes = p->in.at;
    p->size = (size_t)size;
    p->in.at += size;
    *is_packet = true;
    return true;
}

/* Decompress deflate data, with or without a zlib header. */
static bool
unpack(fd_packets *p, const char *bytes, size_t size)
{
    z_stream stream = fd_zlib_stream();
    char part[PART];
    int answer = Z_OK;
    p->unpacked.size = p->taken = 0;
    if (inflateInit2(&stream, 15 + 32) != Z_OK) {
        p->status = FD_ENOMEM;
        return false;
    }
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    stream.avail_in = (unsigned)size;
    while (answer == Z_OK
           && p->unpacked.size < fd_budget(FD_PACKETS_UNPACKED)) {
        stream.next_out = (unsigned char *)part;
        stream.avail_out = PART;
        answer = inflate(&stream, Z_NO_FLUSH);
        fd_buffer_bytes(&p->unpacked, part, PART - stream.avail_out);
    }
    inflateEnd(&stream);
    p->status = answer == Z_MEM_ERROR ? FD_ENOMEM : p->unpacked.status;
    return answer == Z_STREAM_END && p->status == FD_OK;
}

/* Return the next packet of the decompressed ones. */
static bool
next_unpacked(fd_packets *p)
{
    fd_proto_field field;
    fd_proto_reader reader = fd_proto_read(p->unpacked.bytes + p->taken,
                                           p->unpacked.size - p->taken);
    while (fd_proto_next(&reader, &field)) {
        if (field.number == FD_PB_TRACE_PACKET
            && field.wire == FD_PROTO_BYTES) {
            p->taken = (size_t)(reader.at - p->unpacked.bytes);
            p->bytes = field.bytes;
            p->size = field.size;
            return true;
        }
    }
    if (reader.bad) {
        lose(p, "damaged compressed packets",
             (uint64_t)(p->unpacked.size - p->taken));
    }
    p->taken = p->unpacked.size;
    return false;
}

/* Return whether the packet contains compressed packets; it then has no other
 * field. */
static bool
is_packed(const fd_packets *p, fd_proto_field *field)
{
    fd_proto_reader reader = fd_proto_read(p->bytes, p->size);
    return fd_proto_next(&reader, field)
        && field->number == FD_PB_PACKET_COMPRESSED
        && field->wire == FD_PROTO_BYTES;
}

bool
fd_packets_next(fd_packets *p)
{
    bool is_packet;
    fd_proto_field packed;
    while (p->status == FD_OK) {
        if (p->taken < p->unpacked.size && next_unpacked(p)) {
            return true;
        }
        if (!next_field(p, &is_packet) || p->status != FD_OK) {
            return false;
        }
        if (is_packet && !is_packed(p, &packed)) {
            return true;
        }
        if (is_packet && !unpack(p, packed.bytes, packed.size)
            && p->status == FD_OK) {
            lose(p, "damaged compressed packets", packed.size);
        }
    }
    return false;
}
