/* From a Python call to its node: code object and runtime class in, node out,
 * with the user's keep filter asked once. Needs the GIL. */
#ifndef FD_FUNCTIONS_H
#define FD_FUNCTIONS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* What a frame calls, in terms of the tree. `receiver` is the id of the class
 * that was looked at (0: none). */
typedef struct fd_function {
    fd_callee callee;
    uint32_t receiver;
    bool dropped; /* keep= said no */
} fd_function;

/* What is known of a code object, at first sight too; NULL when memory is
 * out. */
const fd_code *fd_code_of(fd_thread *thread, PyCodeObject *code);

/* Whether this is the body of a module of the user's own: it is seen even
 * where imports are folded. */
bool fd_function_unfolds(fd_thread *thread, const PyCodeObject *code,
                         const fd_code *known);

/* Resolve the call of `frame` made from the thread's current context. Runs
 * under fd_guard when anything is new. */
fd_function fd_function_of(fd_thread *thread, PyCodeObject *code,
                           const fd_code *known, const fd_frame *frame);

#endif
