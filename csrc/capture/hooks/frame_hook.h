/* The PEP 523 evaluator: sees every Python call of every thread. */
#ifndef FD_FRAME_HOOK_H
#define FD_FRAME_HOOK_H

#include "capture/python/pyframe.h"

typedef enum fd_hook {
    FD_HOOK_TIMED,    /* record calls and times */
    FD_HOOK_TIMELINE, /* the same, and when each call was */
    FD_HOOK_GPU,      /* the same, and on the GPU: timers/call_timers.h */
    FD_HOOK_COUNTED,  /* record calls */
    FD_HOOK_WATCHING  /* record nothing, see where steps end */
} fd_hook;

/* Say what is to be done with frames. The first time this puts the evaluator
 * in front of the one that is there. Needs the GIL. */
void fd_frame_hook_install(fd_hook hook);

/* Do nothing with frames any more, and take the evaluator out if it is in
 * front. Otherwise another tool holds it: it stays, and leaves at the first
 * frame that finds it in front. Needs the GIL. */
void fd_frame_hook_remove(void);

/* Whether CPython's own evaluator is back although the recorder's was not
 * removed: a tool that was in front restored what it had found. Needs the GIL. */
bool fd_frame_hook_is_lost(void);

#endif
