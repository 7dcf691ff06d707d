#include "capture/operators/node_calls.h"

fd_context *
fd_node_context(fd_tree *tree, uint32_t node, uint32_t origin)
{
    fd_callee callee = {node, 0, origin};
    fd_context *context = fd_tree_child(tree, tree->current, &callee);
    context->callee = node | FD_CALLEE_NODE;
    context->receiver = 0;
    fd_tree_note(tree, fd_tree_id(tree, context));
    return context;
}

void
fd_node_first_number(fd_thread *thread, uint64_t number, uint64_t torch_thread)
{
    if (thread->ring_refused) {
        return;
    }
    fd_session *session = thread->session;
    thread->ring = fd_origins_ring(&session->origins,
                                   &session->recording->lock, torch_thread);
    thread->ring_refused = thread->ring == NULL;
    if (thread->ring != NULL) {
        fd_node_number(thread, number, torch_thread);
    }
}
