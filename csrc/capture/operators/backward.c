#include "capture/operators/backward.h"

#include "capture/operators/node_calls.h"
#include "capture/torch/record_layout.h"

static const char ANNOUNCEMENT[] = "autograd::engine::evaluate_function: ";

bool
fd_backward_is_announcement(const void *record)
{
    return fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_FUNCTION
        && strncmp(fd_record_text(record), ANNOUNCEMENT,
                   sizeof ANNOUNCEMENT - 1)
               == 0;
}

void
fd_backward_announce(fd_thread *thread, const void *record, bool timed)
{
    fd_thread_tick(thread, timed);
    fd_node_push(thread->tree, thread->tree->current, record, FD_ENTRY_ENGINE);
}

static fd_origin
origin_of(const fd_thread *thread, const void *record, const char *name)
{
    static const char accumulate[] = "AccumulateGrad";
    const fd_session *session = thread->session;
    const fd_file *file = &session->recording->file;
    int64_t number =
        (int64_t)fd_record_word(record, fd_record_layout->sequence);
    if (number < 0 || strstr(name, accumulate) != NULL) {
        fd_file_count(file, FD_COUNT_ACCUMULATE);
        return (fd_origin){0, 0};
    }
    return fd_origins_find(
        &session->origins, file,
        fd_record_word(record, fd_record_layout->forward_thread),
        (uint64_t)number, name);
}

/* Count uncertain origins once per context: a number alone may be wrong if
 * unknown code creates autograd nodes. */
static void
check_fit(const fd_thread *thread, uint32_t origin, const char *name)
{
    const fd_file *file = &thread->session->recording->file;
    if (!fd_origins_fit(file, origin, name)) {
        fd_file_count(file, FD_COUNT_ORIGIN_MISFIT);
    }
}

/* Add the flow from the forward call to this call, which begins now. */
static void
add_flow(fd_tree *tree, const fd_context *context, const fd_origin *origin)
{
    if (tree->events.chunk != NULL && origin->start != 0
        && context->origin == origin->context
        && tree->events.shortest[FD_TIMELINE_OPS] != UINT64_MAX) {
        fd_tree_event(tree,
                      (fd_event){tree->record->last, origin->start,
                                 fd_tree_id(tree, context), FD_EVENT_FLOW, 0});
    }
}

/* Begin the call of a node. It lasts from its own record to the end of its
 * announcement, which includes forwarding its results. */
void
fd_backward_start(fd_thread *thread, const void *record, bool timed)
{
    fd_tree *tree = thread->tree;
    const char *name = fd_record_text(record);
    uint32_t node = fd_texts_node(thread, FD_NODE_AUTOGRAD, name);
    fd_origin origin = origin_of(thread, record, name);
    fd_thread_tick(thread, timed);
    uint32_t depth = fd_tree_depth(tree);
    fd_entry *top = depth > 0 ? &tree->stack[depth - 1] : NULL;
    fd_context *context = fd_node_enter(tree, node, origin.context);
    if (context->calls == 1 && origin.context != 0) {
        check_fit(thread, origin.context, name);
    }
    add_flow(tree, context, &origin);
    if (top != NULL && (top->flags & FD_ENTRY_ENGINE) != 0) {
        top->start = tree->record->last;
        top->context = fd_tree_id(tree, context);
        top->flags = FD_ENTRY_OP;
        tree->current = context;
    }
    else {
        fd_node_push(tree, context, record, FD_ENTRY_OP);
    }
}
