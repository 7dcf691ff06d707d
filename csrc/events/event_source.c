#include "events/event_source.h"

#include "base/budget.h"
#include "events/recorded/events_from_recording.h"
#include "events/writers/perfetto_fields.h"
#include "streams/protobuf.h"

#include <string.h>

/* Number of bytes that is sufficient to recognize every format. */
enum { HEAD = 1 << 16 };

/* Return whether a file is a dump or a merge of dumps. */
static bool
is_dump(const char *path, const char *head, size_t size)
{
    static const char begin[] = "{\"format\":\"fastdispatch.trace\"";
    (void)path;
    return size >= sizeof begin - 1
        && memcmp(head, begin, sizeof begin - 1) == 0;
}

static fd_status
open_dump(fd_timeline_maker *maker, fd_bytes_in *in, const char *path,
          fd_error *error)
{
    (void)maker;
    (void)in;
    (void)path;
    return fd_fail(error, FD_EFORMAT,
                   "a dump has no timeline: use the recording (.fd)");
}

/* Return whether the content starts with a packet of a native Perfetto trace:
 * field 1, its length, and fields. */
static bool
is_perfetto(const char *path, const char *head, size_t size)
{
    uint64_t length;
    fd_proto_field field;
    const char *at = head + 1;
    const char *end = head + size;
    (void)path;
    if (size < 2 || *head != (FD_PB_TRACE_PACKET << 3 | FD_PROTO_BYTES)
        || !fd_proto_varint(&at, end, &length) || length == 0
        || length > (uint64_t)(end - at)) {
        return false;
    }
    fd_proto_reader packet = fd_proto_read(at, (size_t)length);
    while (fd_proto_next(&packet, &field)) {
    }
    return !packet.bad;
}

static fd_status
open_perfetto(fd_timeline_maker *maker, fd_bytes_in *in, const char *path,
              fd_error *error)
{
    (void)maker;
    (void)in;
    (void)path;
    return fd_fail(error, FD_EFORMAT,
                   "a native Perfetto trace cannot be read: give recordings, "
                   "Chrome JSON or logs of Paddle");
}

static const fd_timeline_source sources[] = {
    {FD_RECORDING_FORMAT, fd_timeline_is_recording,
     fd_timeline_from_recording},
    {"dump", is_dump, open_dump},
    {"Perfetto", is_perfetto, open_perfetto},
    {"Chrome JSON", NULL, NULL},
};

enum { LAST = sizeof sources / sizeof *sources - 1 };

static const fd_timeline_source *
source_find(const char *path, const char *head, size_t size)
{
    for (int i = 0; i < LAST; i++) {
        if (sources[i].matches(path, head, size)) {
            return &sources[i];
        }
    }
    return &sources[LAST];
}

fd_status
fd_timeline_source_open(fd_timeline_maker *maker, fd_bytes_in *in,
                        const char *path, const fd_timeline_source **source,
                        fd_error *error)
{
    *source = NULL;
    *maker = (fd_timeline_maker){.context = NULL};
    fd_status status = fd_bytes_in_open(in, path, error);
    size_t most = fd_budget(HEAD);
    while (status == FD_OK && (size_t)(in->end - in->at) < most
           && fd_bytes_in_more(in)) {
    }
    if (status != FD_OK || in->status != FD_OK) {
        return fd_then(status, in->status);
    }
    *source = source_find(path, in->at, (size_t)(in->end - in->at));
    if ((*source)->open == NULL) {
        return FD_OK;
    }
    maker->size = in->size;
    status = (*source)->open(maker, in, path, error);
    in->size = maker->size;
    return status;
}

void
fd_timeline_maker_close(fd_timeline_maker *maker)
{
    if (maker->release != NULL) {
        maker->release(maker->context);
    }
    *maker = (fd_timeline_maker){.context = NULL};
}
