#include "recording/operator_log.h"

#include <string.h>

enum { DEEPEST = 1024 };

static void *
reserve_records(fd_tree *tree, fd_pool *pool, uint32_t count)
{
    fd_recording *recording = tree->recording;
    return fd_recording_reserve(recording, pool, count,
                                &recording->op_call_bytes,
                                recording->limits.max_op_calls);
}

static void
count_lost(const fd_tree *tree)
{
    fd_file_count(&tree->recording->file, FD_COUNT_OP_CALLS_FULL);
}

/* Store the words and return their offset. Return 0 and set `*size` to 0 if
 * there are no words or no space. */
static uint64_t
store_words(fd_tree *tree, uint32_t *size)
{
    fd_op_log *log = &tree->ops;
    uint64_t at = 0;
    *size = 0;
    if (log->words.count == 0) {
        return 0;
    }
    uint64_t *words = reserve_records(tree, &log->operands, log->words.count);
    if (words == NULL) {
        count_lost(tree);
    }
    else {
        memcpy(words, log->words.list, log->words.count * sizeof *words);
        fd_pool_publish(&log->operands, log->words.count);
        at = (uint64_t)((const char *)words - tree->base);
        *size = log->words.count;
    }
    log->words.count = 0;
    return at;
}

static const fd_op_call *
enclosing_call(const fd_op_log *log)
{
    for (uint32_t i = log->open.count; i > 0; i--) {
        if (log->open.list[i - 1].call != NULL) {
            return log->open.list[i - 1].call;
        }
    }
    return NULL;
}

fd_op_call *
fd_op_calls_begin(fd_tree *tree, const fd_op_call *what, const void *record,
                  uint32_t window)
{
    fd_op_log *log = &tree->ops;
    const fd_file *file = &tree->recording->file;
    if (log->window != window) {
        log->window = window;
        log->open.count = 0;
    }
    const fd_op_call *parent = enclosing_call(log);
    bool nests = (what->flags & FD_OP_CALL_ASYNC) == 0;
    uint32_t size;
    uint64_t inputs = store_words(tree, &size);
    fd_op_call *call = reserve_records(tree, &log->calls, 1);
    if (call == NULL) {
        count_lost(tree);
    }
    else {
        *call = *what;
        call->inputs = inputs;
        call->input_words = size;
        call->parent = parent != NULL ? fd_file_id(file, parent) : 0;
        call->thread = fd_file_id(file, tree->record);
        call->flags |= FD_OP_CALL_OPEN;
        fd_pool_publish(&log->calls, 1);
    }
    if (nests
        && (log->open.count >= DEEPEST
            || fd_vector_push(&log->open, (fd_open_op_call){record, call})
                   != FD_OK)) {
        count_lost(tree); /* its end will not be recorded */
    }
    return call;
}

void
fd_op_call_close(fd_op_call *call, uint64_t now)
{
    call->ticks = now > call->start ? now - call->start : 0;
    atomic_thread_fence(memory_order_release);
    call->flags &= ~(uint32_t)FD_OP_CALL_OPEN;
}

void
fd_op_calls_end(fd_tree *tree, const void *record, uint64_t now)
{
    fd_op_log *log = &tree->ops;
    uint32_t at = log->open.count;
    while (at > 0 && log->open.list[at - 1].record != record) {
        at--;
    }
    if (at == 0) {
        log->words.count = 0;
        return;
    }
    fd_op_call *call = log->open.list[at - 1].call;
    log->open.count = at - 1;
    if (call != NULL) {
        call->outputs = store_words(tree, &call->output_words);
        fd_op_call_close(call, now);
    }
    log->words.count = 0;
}
