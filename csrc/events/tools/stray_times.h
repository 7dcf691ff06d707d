/* Detection of single events far from all others: a time of 0, or of another
 * clock. Times are collected as clusters with pauses between them. */
#ifndef FD_STRAY_TIMES_H
#define FD_STRAY_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum { FD_TIME_CLUSTERS = 64, FD_TIME_POSITIONS = 3 };

/* The offset of an event in the content, and its number from 1 on. */
typedef struct fd_event_place {
    uint64_t byte;
    uint64_t event;
} fd_event_place;

typedef struct fd_time_cluster {
    int64_t from;
    int64_t to;
    uint64_t count;
    fd_event_place first[FD_TIME_POSITIONS]; /* the first events */
} fd_time_cluster;

typedef struct fd_stray_times {
    uint64_t count; /* number of events */
    uint32_t used;
    uint32_t last; /* index of the cluster of the last event */
    fd_time_cluster list[FD_TIME_CLUSTERS];
} fd_stray_times;

void fd_stray_times_add(fd_stray_times *times, int64_t start, int64_t end,
                        fd_event_place position);

/* Sort the clusters and find the strays: the first `*early` and the last
 * `*late` ones, with at most 32 events and an eighth of all, or one of four to seven. Return whether there are
 * any. */
bool fd_stray_times_find(fd_stray_times *times, uint32_t *early,
                         uint32_t *late);

#endif
