/* Checks of all events of a track together: slices of a thread nest and end;
 * flows begin, end and lie in slices; asynchronous events form pairs.
 *
 * The events of a file are not sorted by time, so the events of a track are
 * collected and sorted first. This takes several `passes` over the file, with
 * a part of the tracks in each, so that memory stays bounded.
 *
 *     record   track | time | end | position: what, number | byte      40 bytes */
#ifndef FD_TRACK_CHECKS_H
#define FD_TRACK_CHECKS_H

#include "base/map.h"
#include "base/vector.h"
#include "events/event_faults.h"
#include "events/timeline_event.h"

enum { FD_TRACKS_RECORDS = 1 << 21 };

typedef struct fd_track_record {
    uint64_t track; /* hash of process and thread, or of the id */
    int64_t time;
    int64_t end; /* end of an X; name hash of a B or E */
    uint64_t event;
    uint64_t byte : 54;
    uint64_t kernel : 1;
    uint64_t profiled : 1; /* a slice of torch.profiler */
    uint64_t what : 8;     /* the phase, or a kind of fd_tracks_add */
} fd_track_record;

typedef struct fd_tracks {
    FD_VECTOR(fd_track_record) records;
    uint32_t most;     /* 0: FD_TRACKS_RECORDS */
    uint32_t passes;   /* 0: one pass, and more if needed */
    uint32_t pass;     /* current pass, from 0 on */
    uint64_t offered;  /* records of all tracks in one pass */
    fd_map cut;        /* tracks whose records exceeded the memory of
                        * the pass */
    uint64_t left_out; /* records of these tracks, which are not checked */
} fd_tracks;

void fd_tracks_clear(fd_tracks *tracks);

/* Begin a pass over the file. */
void fd_tracks_begin(fd_tracks *tracks);

fd_status fd_tracks_add(fd_tracks *tracks, const fd_timeline_event *event,
                        fd_fault_position position);

/* End a pass. `*done` is false if another pass is needed. Faults of each track
 * are reported once. */
fd_status fd_tracks_end(fd_tracks *tracks, fd_faults *faults, bool *done);

#endif
