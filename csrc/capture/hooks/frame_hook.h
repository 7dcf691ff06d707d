/* The PEP 523 evaluator, which receives all Python calls of all threads. */
#ifndef FD_FRAME_HOOK_H
#define FD_FRAME_HOOK_H

#include "capture/python/pyframe.h"

typedef enum fd_hook {
    FD_HOOK_TIMED,    /* record calls and times */
    FD_HOOK_TIMELINE, /* also the start and end of each call */
    FD_HOOK_GPU,      /* also GPU timers: timers/call_timers.h */
    FD_HOOK_COUNTED,  /* record calls without times */
    FD_HOOK_FOLLOWING /* record nothing, but keep the stack of open calls, and
                         detect ends of steps and new code */
} fd_hook;

/* Select the handler of frames. The first call installs the evaluator in front
 * of the existing one. Requires the GIL. */
void fd_frame_hook_install(fd_hook hook);

/* Stop handling frames, and remove the evaluator if it is in front. Otherwise
 * it stays behind the evaluator of another tool and is removed at the first
 * frame at which it is in front. Requires the GIL. */
void fd_frame_hook_remove(void);

/* Return whether CPython's own evaluator is installed although the recorder's
 * was not removed: another tool has restored an earlier evaluator. Requires
 * the GIL. */
bool fd_frame_hook_is_lost(void);

/* Put the hook back if it was removed for a quiet call that still runs
 * (quiet_frames.h); with `open`, no call below it is quiet. Return whether
 * calls are followed again. Requires the GIL. */
bool fd_frame_hook_reopen(bool open);

#endif
