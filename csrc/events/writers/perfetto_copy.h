/* Packets of a native Perfetto trace into a merge with native output: as they
 * are, but for what may not meet that of other ranks.
 *
 *     sequence ids, track uuids   numbers of the merge
 *     flows, ids, pids, tids      as in Chrome output (events/merged_ids.h)
 *     names of processes          "rank N | ...", and their place
 *     clocks of the whole trace   clocks of this rank; one snapshot says how
 *                                 they lie to those of the merge, or as many
 *                                 as drift needs
 */
#ifndef FD_PERFETTO_COPY_H
#define FD_PERFETTO_COPY_H

#include "events/perfetto_packets.h"
#include "events/writers/perfetto_drift.h"
#include "events/writers/perfetto_writer.h"

typedef struct fd_perfetto_copy {
    fd_packets packets;
    fd_timeline_ids *ids;      /* borrowed */
    fd_perfetto_spare *spare;  /* borrowed */
    fd_map tracks;             /* uuid -> track of the merge */
    fd_map sequences;          /* id + 1 -> sequence of the merge */
    fd_map clocked;            /* id + 1 -> 1: it has a clock by default */
    FD_VECTOR(bool) described; /* processes that have a row, by their place */
    uint32_t pid;              /* of the message at hand */
    bool bare;                 /* it is a track without a parent */
    bool said;                 /* it has a process name */
    fd_perfetto_clock clock;   /* of the input */
    fd_perfetto_drift drift;   /* the same */
    uint32_t sequence;         /* of the snapshots */
    fd_buffer scratch;
    fd_buffer packet;
    uint64_t copied; /* packets */
} fd_perfetto_copy;

/* Close it in any case. */
fd_status fd_perfetto_copy_open(fd_perfetto_copy *copy, const char *path,
                                fd_timeline_ids *ids, fd_perfetto_spare *spare,
                                fd_error *error);
void fd_perfetto_copy_close(fd_perfetto_copy *copy);

/* Append the clock snapshot. With drift there are many: then the file is
 * read for its times, which are sorted beside `output`. */
fd_status fd_perfetto_copy_begin(fd_perfetto_copy *copy,
                                 const fd_perfetto_clock *clock,
                                 const char *path, const char *output,
                                 fd_buffer *to, fd_error *error);

/* Append the next packet; false at the end. */
bool fd_perfetto_copy_next(fd_perfetto_copy *copy, fd_buffer *to,
                           fd_status *status);

/* Append rows for the processes that have none. */
void fd_perfetto_copy_end(fd_perfetto_copy *copy, const char *label,
                          fd_buffer *to);

#endif
