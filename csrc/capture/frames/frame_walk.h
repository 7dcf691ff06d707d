/* The open Python calls of another thread and their lines, found without the
 * GIL: a walk of its frames by copies of memory that may be freed meanwhile. The thread may run meanwhile, so only the
 * outer calls that two walks have in common are returned; each is verified by
 * the facts that its code object owns. */
#ifndef FD_FRAME_WALK_H
#define FD_FRAME_WALK_H

#include "capture/python/pyframe.h"
#include "recording/followed_call.h"

/* Return whether the kernel allows the copies. */
bool fd_frame_walk_is_possible(void);

/* Write the open calls of the thread with this id of the kernel, outermost
 * first, as entries with `owner`, `flags`, and the number of the code in
 * `start`. FD_ENTRY_UNHOOKED: the function may have returned since its frame
 * was last known. Return their number; 0 if nothing is certain. */
uint32_t fd_frame_walk(uint32_t system_id, fd_entry *entries,
                       uint32_t capacity);

/* Return the line that the frame at this address executes, or 0. It may be wrong
 * for a thread that began to run. */
uint32_t fd_frame_line_at(uint64_t address);

#endif
