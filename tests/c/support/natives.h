/* Native Perfetto traces as text, for tests. */
#ifndef NATIVES_H
#define NATIVES_H

#include "fixtures.h"

#include "events/tools/timeline_merge.h"
#include "streams/protobuf.h"

/* Append the tracks and events of a native trace as lines, and a NUL:
 *
 *     process 1 rank 0
 *     thread 1 2000000000 main
 *     track 5 memory
 *     B 2 10000 op/add n=-3 l=[1 {}]       type, track, time of the input
 */
fd_status native_text(const char *path, fd_buffer *text);

/* Write `text` to "in.json", merge it to "native.pftrace", and append that one
 * to `lines`. */
fd_status native_merged(const char *text, fd_timeline_input *input,
                        fd_buffer *lines);

/* The first number of a field in a message, or 0. */
uint64_t native_number(const fd_proto_field *message, uint32_t field);

#endif
