/* Writer of timelines as a native Perfetto trace. Each input is a sequence of
 * packets with its own times; its clock snapshot gives the shift, and a
 * drifting clock has several snapshots.
 *
 *     input ── events ── sorter ──► sequence: clock, tracks, texts, then slices
 *              │                              in the order of time
 *              └── rows, texts, tracks: in memory, bounded */
#ifndef FD_PERFETTO_WRITER_H
#define FD_PERFETTO_WRITER_H

#include "events/merged_ids.h"
#include "events/writers/perfetto_packets.h"
#include "streams/output_stream.h"

/* Create a writer that appends to `to`, the text of `out` (NULL: it stays in
 * memory). `to`, `out` and `spare` are borrowed; temporary files are in the
 * folder of `output`. Return NULL after a failed allocation. */
fd_perfetto_writer *fd_perfetto_writer_new(fd_buffer *to, fd_bytes_out *out,
                                           const char *output,
                                           fd_perfetto_spare *spare);
void fd_perfetto_writer_free(fd_perfetto_writer *writer);

/* Add an event. FD_EFORMAT: no valid time. FD_EFULL: too many processes or
 * threads. In both cases the event is skipped. */
fd_status fd_perfetto_writer_event(fd_perfetto_writer *writer,
                                   const fd_timeline_event *event,
                                   fd_timeline_ids *ids, fd_error *error);

/* Write the events of the input; the next event belongs to another input. `label` is shown with its processes. */
fd_status fd_perfetto_writer_end(fd_perfetto_writer *writer,
                                 const fd_timeline_ids *ids,
                                 const fd_perfetto_clock *clock,
                                 const char *label, fd_perfetto_counts *counts,
                                 fd_error *error);

#endif
