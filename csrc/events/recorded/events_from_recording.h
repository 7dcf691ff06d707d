/* A recording of ours as the text of a Chrome trace. It is loaded when its
 * events are asked for and freed behind the last: one is in memory at a time. */
#ifndef FD_EVENTS_FROM_RECORDING_H
#define FD_EVENTS_FROM_RECORDING_H

#include "events/recorded/pipeline_flows.h"
#include "streams/input_stream.h"
#include "trace/anonymize.h"

#define FD_RECORDING_FORMAT "recording"

/* As fd_timeline_source has them. What a recording lost (calls without room,
 * damaged parts) becomes the trouble at its end. */
bool fd_timeline_is_recording(const char *path, const char *head, size_t size);
fd_status fd_timeline_from_recording(fd_bytes_in *in, const char *path,
                                     fd_error *error);

/* Before the first piece of such a text: arrows of transfers are these
 * (borrowed), not those within the recording. */
void fd_timeline_recording_tie(fd_bytes_in *in, const fd_transfers *transfers);

/* Likewise: names are as is asked for here (borrowed). */
fd_status fd_timeline_recording_hide(fd_bytes_in *in,
                                     const fd_privacy *privacy,
                                     fd_error *error);

#endif
