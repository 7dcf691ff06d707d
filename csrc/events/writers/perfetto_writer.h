/* Events of Chrome traces as a native Perfetto trace: a sequence of packets for
 * each input with its own times, whose clock snapshot says by how much they are
 * shifted; where its clock drifts there are more of them.
 *
 *     input ── events ── sorter ──► sequence: clock, tracks, texts, then slices
 *              │                              in the order of time
 *              └── rows, texts, tracks: in memory, bounded
 */
#ifndef FD_PERFETTO_WRITER_H
#define FD_PERFETTO_WRITER_H

#include "events/merged_ids.h"
#include "events/recorded/native_packets.h"
#include "events/writers/perfetto_counts.h"
#include "streams/output_stream.h"

/* `out` and `spare` are borrowed; spills lie beside `output`. NULL without
 * memory. */
fd_perfetto_writer *fd_perfetto_writer_new(fd_bytes_out *out,
                                           const char *output,
                                           fd_perfetto_spare *spare);
void fd_perfetto_writer_free(fd_perfetto_writer *writer);

/* Begin an input. `nested`: its slices are begins and ends, in the order of
 * time with the marks within them. */
void fd_perfetto_writer_begin(fd_perfetto_writer *writer, bool nested);

/* FD_EFORMAT: no valid time; FD_EFULL: too many processes or threads; in
 * both cases the event is skipped. */
fd_status fd_perfetto_writer_event(fd_perfetto_writer *writer,
                                   const fd_timeline_event *event,
                                   fd_timeline_ids *ids, fd_error *error);

/* Write the events of the input; the next one may begin. `label` is shown
 * with its processes. */
fd_status fd_perfetto_writer_end(fd_perfetto_writer *writer,
                                 const fd_timeline_ids *ids,
                                 const fd_perfetto_clock *clock,
                                 const char *label, fd_perfetto_counts *counts,
                                 fd_error *error);

#endif
