/* The PEP 523 evaluator: receives all Python calls of all threads. */
#ifndef FD_FRAME_HOOK_H
#define FD_FRAME_HOOK_H

#include "capture/python/pyframe.h"

typedef enum fd_hook {
    FD_HOOK_TIMED,    /* record calls and times */
    FD_HOOK_TIMELINE, /* also the begin and end of each call */
    FD_HOOK_GPU,      /* also GPU timers: timers/call_timers.h */
    FD_HOOK_COUNTED,  /* record calls without times */
    FD_HOOK_WATCHING  /* record nothing, detect ends of steps */
} fd_hook;

/* Say what is to be done with frames. The first time this puts the evaluator
 * in front of the one that is there. Requires the GIL. */
void fd_frame_hook_install(fd_hook hook);

/* Do nothing with frames any more, and take the evaluator out if it is in
 * front. Otherwise another tool holds it: it stays, and leaves at the first
 * frame that finds it in front. Requires the GIL. */
void fd_frame_hook_remove(void);

/* Whether CPython's own evaluator is back although the recorder's was not
 * removed: a tool that was in front restored what it had found. Requires the
 * GIL. */
bool fd_frame_hook_is_lost(void);

#endif
