/* The call tree for flame graphs: callees below their caller, as wide as their
 * weight.
 *
 *     main ████████████████████      weight   of the call itself
 *       step ███████████████  █      whole    including all callees
 *         forward ██████
 *
 * Calls whose whole weight is 0 are skipped, including their callees. */
#include "export/stack_exports.h"

#include "profile/totals.h"

typedef struct stacks {
    const fd_trace *trace;
    fd_export_weight weight; /* calls if the requested figure was not
                              * recorded */
    fd_totals totals;
    uint64_t *whole; /* by context */
    uint32_t *first; /* first callee; of entry 0, the first thread */
    uint32_t *next;  /* next callee of the same caller; 0: no more */
} stacks;

static uint64_t
weight_of(const stacks *s, uint32_t context)
{
    const fd_total *total = &s->totals.list[context];
    switch (s->weight) {
    case FD_WEIGHT_TIME:
        return total->self;
    case FD_WEIGHT_GPU:
        return total->gpu_self;
    case FD_WEIGHT_CALLS:
    default:
        return total->calls;
    }
}

/* Sum up the weights, and return that of all threads. */
static uint64_t
sum_up(stacks *s)
{
    s->whole[0] = 0;
    for (uint32_t i = 1; i < s->trace->contexts.count; i++) {
        s->whole[i] = weight_of(s, i);
    }
    for (uint32_t i = s->trace->contexts.count; i-- > 1;) {
        s->whole[s->trace->contexts.list[i].parent] += s->whole[i];
    }
    return s->whole[0];
}

/* Link callees from the end, so that siblings are in the order of the
 * trace. */
static void
link_up(stacks *s)
{
    for (uint32_t i = s->trace->contexts.count; i-- > 1;) {
        uint32_t parent = s->trace->contexts.list[i].parent;
        if (s->whole[i] > 0) {
            s->next[i] = s->first[parent];
            s->first[parent] = i;
        }
    }
}

static fd_status
make_stacks(stacks *s, int rank)
{
    size_t count = s->trace->contexts.count;
    s->whole = fd_calloc(count, sizeof *s->whole);
    s->first = fd_calloc(count, sizeof *s->first);
    s->next = fd_calloc(count, sizeof *s->next);
    if (s->whole == NULL || s->first == NULL || s->next == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = fd_totals_sum(&s->totals, s->trace, rank);
    if (status != FD_OK) {
        return status;
    }
    if (sum_up(s) == 0 && s->weight != FD_WEIGHT_CALLS) {
        s->weight = FD_WEIGHT_CALLS;
        sum_up(s);
    }
    link_up(s);
    return FD_OK;
}

/* Return the character for a frame of a byte of a key: separators of frames
 * and lines and control characters of terminals are replaced. */
static char
frame_byte(char one)
{
    if (one == ';') {
        return ':';
    }
    return (unsigned char)one < ' ' || one == 0x7f ? ' ' : one;
}

static void
add_frame(fd_buffer *path, const fd_trace *trace, uint32_t node)
{
    if (path->size > 0) {
        fd_buffer_text(path, ";");
    }
    size_t from = path->size;
    fd_trace_node_key(trace, node, path);
    for (size_t i = from; i < path->size; i++) {
        path->bytes[i] = frame_byte(path->bytes[i]);
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

static void
write_line(const stacks *s, uint32_t context, const fd_buffer *path,
           fd_buffer *to)
{
    uint64_t weight = weight_of(s, context);
    if (weight > 0) {
        fd_buffer_bytes(to, path->bytes, path->size);
        fd_buffer_text(to, " ");
        fd_buffer_u64(to, weight);
        fd_buffer_text(to, "\n");
    }
}

/* Write the lines of a depth-first walk. */
static fd_status
write_stacks(const stacks *s, fd_buffer *to)
{
    fd_buffer path = {.bytes = NULL};
    uint32_t below = s->first[0];
    uint32_t at = 0;
    while (path.status == FD_OK && (below != 0 || at != 0)) {
        if (below != 0) {
            at = below;
            add_frame(&path, s->trace, s->trace->contexts.list[at].node);
            write_line(s, at, &path, to);
            below = s->first[at];
            continue;
        }
        drop_frame(&path);
        below = s->next[at];
        at = s->trace->contexts.list[at].parent;
    }
    fd_status status = path.status;
    fd_buffer_clear(&path);
    return status;
}

fd_status
fd_export_folded(const fd_trace *trace, const fd_export_options *options,
                 fd_buffer *to, fd_error *error)
{
    (void)error;
    stacks s = {.trace = trace, .weight = options->weight};
    fd_status status = make_stacks(&s, options->rank);
    fd_then(status, write_stacks(&s, to));
    fd_free(s.whole);
    fd_free(s.first);
    fd_free(s.next);
    fd_totals_clear(&s.totals);
    return fd_then(status, to->status);
}
