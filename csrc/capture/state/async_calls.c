#include "capture/state/async_calls.h"

#include "recording/operator_log.h"

void
fd_asyncs_init(fd_asyncs *asyncs)
{
    *asyncs = (fd_asyncs){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void
fd_asyncs_begin(fd_asyncs *asyncs, const fd_file *file, const void *record,
                fd_context *context)
{
    pthread_mutex_lock(&asyncs->lock);
    context->flags |= FD_CONTEXT_ASYNC;
    context->calls++;
    fd_async *slot = NULL;
    for (int i = 0; i < FD_ASYNCS_OPEN && slot == NULL; i++) {
        if (asyncs->open[i].record == NULL) {
            slot = &asyncs->open[i];
        }
    }
    if (slot != NULL) {
        *slot = (fd_async){record, context, fd_clock_ticks(), NULL};
    }
    else {
        fd_file_count(file, FD_COUNT_ASYNC_LOST);
    }
    pthread_mutex_unlock(&asyncs->lock);
}

void
fd_asyncs_note(fd_asyncs *asyncs, const void *record, fd_op_call *call)
{
    pthread_mutex_lock(&asyncs->lock);
    for (int i = 0; i < FD_ASYNCS_OPEN; i++) {
        if (asyncs->open[i].record == record) {
            asyncs->open[i].call = call;
        }
    }
    pthread_mutex_unlock(&asyncs->lock);
}

bool
fd_asyncs_end(fd_asyncs *asyncs, fd_tree *tree, const void *record, bool timed)
{
    fd_async ended = {.record = NULL};
    uint64_t ticks = 0;
    pthread_mutex_lock(&asyncs->lock);
    for (int i = 0; i < FD_ASYNCS_OPEN && ended.record == NULL; i++) {
        fd_async *slot = &asyncs->open[i];
        if (slot->record == record) {
            ticks = timed ? fd_clock_ticks() - slot->start : 0;
            slot->context->self += ticks;
            if (slot->call != NULL) {
                fd_op_call_close(slot->call, fd_clock_ticks());
            }
            ended = *slot;
            slot->record = NULL;
        }
    }
    pthread_mutex_unlock(&asyncs->lock);
    if (ended.record != NULL && tree != NULL && tree->events.chunk != NULL) {
        fd_tree_event(tree, (fd_event){ended.start, ticks,
                                       fd_tree_id(tree, ended.context),
                                       FD_EVENT_ASYNC, 0});
    }
    return ended.record != NULL;
}

void
fd_asyncs_forget(fd_asyncs *asyncs, const fd_file *file)
{
    pthread_mutex_lock(&asyncs->lock);
    for (int i = 0; i < FD_ASYNCS_OPEN; i++) {
        if (asyncs->open[i].record != NULL) {
            fd_file_count(file, FD_COUNT_ASYNC_LOST);
            asyncs->open[i].record = NULL;
        }
    }
    pthread_mutex_unlock(&asyncs->lock);
}
