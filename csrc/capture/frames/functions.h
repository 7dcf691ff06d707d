/* Lookup of the node of a Python call, by code object and runtime class. Calls
 * the keep filter of the user once per node. Requires the GIL. */
#ifndef FD_FUNCTIONS_H
#define FD_FUNCTIONS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* The callee of a frame in the tree. `receiver` is the id of its class
 * (0: none). */
typedef struct fd_function {
    fd_callee callee;
    uint32_t receiver;
    bool dropped; /* rejected by the keep filter */
} fd_function;

/* Return the facts about a code object, collected at its first call, or NULL
 * if there is no memory. */
const fd_code *fd_code_of(fd_thread *thread, PyCodeObject *code);

/* Return whether the code is the body of a module of the user, which is
 * recorded even if imports are folded. */
bool fd_function_unfolds(fd_thread *thread, const PyCodeObject *code,
                         const fd_code *known);

/* Return whether the keep filter drops a node. Calls the filter if the node
 * has been `added`; the filter may end the recording. */
bool fd_function_is_dropped(fd_thread *thread, uint32_t node, bool added);

/* Resolve the call of `frame` from the current context of the thread. Enters a
 * guard for new functions. */
fd_function fd_function_of(fd_thread *thread, PyCodeObject *code,
                           const fd_code *known, const fd_frame *frame);

#endif
