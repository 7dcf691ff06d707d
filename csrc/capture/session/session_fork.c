#include "capture/frames/constructors.h"
#include "capture/hooks/c_calls.h"
#include "capture/hooks/collection_hook.h"
#include "capture/hooks/frame_hook.h"
#include "capture/hooks/monitor.h"
#include "capture/hooks/watched_steps.h"
#include "capture/memory/memory_reports.h"
#include "capture/session/partial_steps.h"
#include "capture/session/session.h"
#include "recording/recording.h"

static void
before_fork(void)
{
    fd_process.forking = fd_process_active();
    if (fd_process.forking != NULL) {
        fd_thread_watch_end(&fd_process.forking->watch);
    }
    fd_sections_before_fork();
    if (fd_process.forking != NULL) {
        fd_memory_reports_lock(fd_process.forking);
        pthread_mutex_lock(&fd_process.forking->recording->lock);
    }
}

static void
after_fork_in_parent(void)
{
    if (fd_process.forking != NULL) {
        pthread_mutex_unlock(&fd_process.forking->recording->lock);
        fd_memory_reports_unlock(fd_process.forking);
        fd_partial_forked(fd_process.forking);
    }
    fd_sections_after_fork_in_parent();
}

/* Detach the mapping first: a call recorded in the child would be in the file
 * of the parent. */
static void
after_fork_in_child(void)
{
    if (fd_process.forking != NULL) {
        fd_recording_detach(fd_process.forking->recording);
        fd_process_activate(NULL, 0);
        fd_process_next_generation();
        pthread_mutex_unlock(&fd_process.forking->recording->lock);
        fd_memory_reports_unlock(fd_process.forking);
    }
    fd_process.pins = fd_thread_self != NULL ? fd_thread_self->pins : 0;
    fd_thread_forked();
}

int
fd_session_init(void)
{
    fd_sections_init();
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child)
        != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return fd_collections_init();
}

void
fd_session_forked(void)
{
    fd_frame_hook_remove();
    fd_monitor_remove();
    fd_watched_steps_close();
    fd_c_calls_close();
    fd_collections_ignore();
    fd_constructors_release();
    fd_memory_reports_ignore();
}
