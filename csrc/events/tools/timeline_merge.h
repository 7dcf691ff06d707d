/* Merge of the traces of many ranks into one (docs/guides/timeline-tools.md).
 * Only one input is open at a time, and no input is stored in memory. */
#ifndef FD_TIMELINE_MERGE_H
#define FD_TIMELINE_MERGE_H

#include "events/merge_request.h"

/* Return whether a file of this name is a native Perfetto trace: .pftrace or
 * .perfetto-trace, optionally followed by .gz. */
bool fd_timeline_is_native(const char *path);

/* Merge the inputs, which are sorted by rank; of two inputs of a rank, the
 * recording is first. FD_EFORMAT, without a file: an input is not a trace, or
 * has no event but damage. */
fd_status fd_timeline_merge(const fd_timeline_request *request,
                            fd_timeline_input *inputs, uint32_t count,
                            fd_error *error);

#endif
