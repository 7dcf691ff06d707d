#include "export/stack_exports.h"

#include "export/flame_stacks.h"

/* Append a frame. Separators of frames and lines are replaced. */
static void
add_frame(fd_buffer *path, const fd_trace *trace, uint32_t node)
{
    if (path->size > 0) {
        fd_buffer_text(path, ";");
    }
    size_t from = path->size;
    fd_trace_node_key(trace, node, path);
    for (size_t i = from; i < path->size; i++) {
        char *one = &path->bytes[i];
        *one = *one == ';' ? ':' : *one == '\n' || *one == '\r' ? ' ' : *one;
    }
}

/* Remove the frame after the last ";", or everything if there is only one
 * frame. */
static void
drop_frame(fd_buffer *path)
{
    while (path->size > 0 && path->bytes[--path->size] != ';') {
    }
}

fd_status
fd_export_folded(const fd_trace *trace, const fd_export_options *options,
                 fd_buffer *to, fd_error *error)
{
    (void)error;
    fd_stacks stacks;
    fd_stacks_step step = {0, false};
    fd_buffer path = {.bytes = NULL};
    fd_status status =
        fd_stacks_make(&stacks, trace, options->rank, options->weight);
    while (status == FD_OK && fd_stacks_walk(&stacks, &step)) {
        uint64_t weight = fd_stacks_weight(&stacks, step.context);
        if (!step.opens) {
            drop_frame(&path);
            continue;
        }
        add_frame(&path, trace, trace->contexts.list[step.context].node);
        if (weight > 0) {
            fd_buffer_bytes(to, path.bytes, path.size);
            fd_buffer_text(to, " ");
            fd_buffer_u64(to, weight);
            fd_buffer_text(to, "\n");
        }
        status = path.status;
    }
    fd_buffer_clear(&path);
    fd_stacks_clear(&stacks);
    return status == FD_OK ? to->status : status;
}
