/* Reader of recordings as timelines. A recording is loaded when its events are
 * read and freed after the last one: one is in memory at a time. */
#ifndef FD_EVENTS_FROM_RECORDING_H
#define FD_EVENTS_FROM_RECORDING_H

#include "events/event_maker.h"
#include "events/recorded/call_flows.h"

#define FD_RECORDING_FORMAT "recording"

/* See fd_timeline_source. Losses of a recording (calls without space, damaged
 * parts) are reported as `trouble` at its end. */
bool fd_timeline_is_recording(const char *path, const char *head, size_t size);
fd_status fd_timeline_from_recording(fd_timeline_maker *maker, fd_bytes_in *in,
                                     const char *path, fd_error *error);

/* If the maker is of a recording, add these flows of a pipeline (borrowed),
 * before the first batch, and return true if they are drawn. */
bool fd_timeline_recording_transfers(fd_timeline_maker *maker,
                                     const fd_transfers *transfers);

#endif
