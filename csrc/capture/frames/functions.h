/* From a Python call to its node: code object and runtime class in, node out,
 * with the user's keep filter asked once. Needs the GIL. */
#ifndef FD_FUNCTIONS_H
#define FD_FUNCTIONS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* The callee of a frame in the tree. `receiver` is the id of its class
 * (0: none). */
typedef struct fd_function {
    fd_callee callee;
    uint32_t receiver;
    bool dropped; /* keep= said no */
} fd_function;

/* Facts about a code object, collected at its first call; NULL when memory is
 * out. */
const fd_code *fd_code_of(fd_thread *thread, PyCodeObject *code);

/* Whether this is the body of a module of the user: it is recorded even
 * where imports are folded. */
bool fd_function_unfolds(fd_thread *thread, const PyCodeObject *code,
                         const fd_code *known);

/* Resolve the call of `frame` made from the thread's current context. Runs
 * under fd_guard when anything is new. */
fd_function fd_function_of(fd_thread *thread, PyCodeObject *code,
                           const fd_code *known, const fd_frame *frame);

#endif
