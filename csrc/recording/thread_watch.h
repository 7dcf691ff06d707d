/* A thread of the recorder that looks at the process once a second. It writes
 * a sign of life into the recording, and for each recorded thread since when
 * it has not run, and what it waits for; while the first of them stands still,
 * also when other threads and child processes last ran. Readers find out with
 * it how long a process has stood still, even after it was killed. Between two
 * looks it wakes up for `alarm`.
 *
 * It reads /proc, the lines of frames of threads that stand still, through
 * `line_of`, and the open calls of threads whose stack is old
 * (FD_THREAD_WATCHED), through `calls_of`. It blocks all signals. It does not exist in a forked child, and
 * not during a fork. */
#ifndef FD_THREAD_WATCH_H
#define FD_THREAD_WATCH_H

#include "recording/recording.h"
#include "recording/thread_clock.h"
#include "recording/wait_kinds.h"

/* A watched thread. */
typedef struct fd_watched {
    fd_thread_record *record;
    uint32_t system_id;
    fd_thread_turns turns; /* at the latest look */
    uint64_t seen;         /* tick of the latest look */
    uint64_t looked;       /* tick of the latest look at which it had run */
    bool still;
    bool watched;    /* whether its stack was old at the latest look */
    fd_chunk *calls; /* FD_CHUNK_WATCHED of the record, or NULL */
} fd_watched;

typedef struct fd_thread_watch {
    fd_recording *recording; /* borrowed */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool prepared; /* whether lock and condition exist */
    bool running;
    bool ends; /* protected by `lock` */
    /* Return the line that a frame executes, from the owner of an entry; 0:
     * unknown. NULL: all are. */
    uint32_t (*line_of)(uint64_t owner);
    /* Write the open calls of a thread: fd_frame_walk. NULL: not known. */
    uint32_t (*calls_of)(uint32_t system_id, fd_entry *entries,
                         uint32_t capacity);
    /* Handle an alarm that is due. Return the tick to be called again at;
     * UINT64_MAX: after the next look. NULL: there are no alarms. */
    uint64_t (*alarm)(uint64_t now);
    fd_chunk *lines; /* of fd_open_line; NULL: none yet */
    FD_VECTOR(fd_watched) threads;
    bool measures; /* whether `work` is that of the latest look */
    fd_process_work work;
} fd_thread_watch;

/* Start the thread; without it (no memory) the recording is complete, but
 * readers know less about a process that stands still. */
void fd_thread_watch_start(fd_thread_watch *watch, fd_recording *recording);

/* End the thread and wait for it, at most for one look: its signs of life are
 * no longer valid. It may be started again. */
void fd_thread_watch_end(fd_thread_watch *watch);

/* Free everything after the end. */
void fd_thread_watch_clear(fd_thread_watch *watch);

/* Look once, as the thread does. */
void fd_thread_watch_look(fd_thread_watch *watch);

#endif
