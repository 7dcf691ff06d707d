/* Merges from and to native Perfetto traces, for tests. */
#ifndef NATIVES_H
#define NATIVES_H

#include "fixtures.h"

#include "events/tools/timeline_merge.h"
#include "streams/protobuf.h"

/* Write `text` to "in.json", merge it to "native.pftrace", with `copy` that to
 * "again.pftrace", and the last one to "out.json". `back` is the text of
 * out.json with a NUL. */
fd_status native_round(const char *text, bool copy, fd_timeline_input *input,
                       fd_buffer *back);

fd_status native_merge(const char *from, const char *to,
                       fd_timeline_input *input);

/* The first number of a field in a message, or 0. */
uint64_t native_number(const fd_proto_field *message, uint32_t field);

#endif
