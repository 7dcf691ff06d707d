#include "capture/hooks/step_sites.h"

#include "capture/process/guard.h"

enum { MOST_FRAMES = 256 };

/* Return the hash of a place. */
static uint64_t
hash_frames(fd_frame *caller, const fd_frame *callee)
{
    uint64_t hash = 1;
    fd_frame *at = caller;
    for (int i = 0; at != NULL && i < MOST_FRAMES; i++) {
        uint64_t code = (uint64_t)(uintptr_t)fd_frame_code(at);
        uint64_t instruction = (uint64_t)fd_frame_call(at, callee);
        hash = fd_hash_word(hash ^ code) + fd_hash_word(instruction + 1);
        callee = at;
        at = fd_frame_python(at->previous);
    }
    return hash != 0 ? hash : 1;
}

/* Return a list of (code, offset of the instruction), outermost first, or NULL
 * with an exception. */
static PyObject *
list_frames(fd_frame *caller, const fd_frame *callee)
{
    PyObject *list = PyList_New(0);
    fd_frame *at = caller;
    for (int i = 0; list != NULL && at != NULL && i < MOST_FRAMES; i++) {
        PyObject *pair = Py_BuildValue("(Oi)", (PyObject *)fd_frame_code(at),
                                       fd_frame_call(at, callee));
        callee = at;
        if (pair == NULL || PyList_Append(list, pair) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
        at = fd_frame_python(at->previous);
    }
    if (list != NULL && PyList_Reverse(list) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

/* Relate the new place with the others. */
static void
relate_sites(fd_session *session, fd_thread *thread, PyObject *frames)
{
    fd_rounds *rounds = &session->step_plan.rounds;
    uint32_t count = session->step_plan.site_count;
    PyObject *relations =
        fd_session_call(session, thread, session->step_plan.on_site, frames);
    if (relations != NULL && PyBytes_Check(relations)
        && PyBytes_GET_SIZE(relations) == (Py_ssize_t)count * count
        && fd_rounds_relate(rounds, thread->stepping, count,
                            (uint8_t *)PyBytes_AS_STRING(relations))) {
        /* The steps so far were parts of iterations: count again. */
        fd_header *header = fd_file_header(&session->recording->file);
        if (header->steps_source == FD_STEPS_OPTIMIZER) {
            header->steps_source = FD_STEPS_NONE;
        }
    }
    Py_XDECREF(relations);
}

static void
add_site(fd_session *session, fd_thread *thread, fd_frame *caller,
         const fd_frame *callee, uint64_t hash)
{
    fd_guard guard = fd_guard_enter(thread);
    PyObject *frames = list_frames(caller, callee);
    if (frames != NULL) {
        session->step_plan.sites[session->step_plan.site_count++] = hash;
        relate_sites(session, thread, frames);
        Py_DECREF(frames);
    }
    PyErr_Clear();
    fd_guard_leave(&guard);
}

uint32_t
fd_step_site(fd_session *session, fd_thread *thread, fd_frame *caller,
             const fd_frame *callee)
{
    if (caller == NULL || session->step_plan.on_site == NULL) {
        return FD_NO_SITE;
    }
    uint64_t hash = hash_frames(caller, callee);
    uint32_t at = 0;
    while (at < session->step_plan.site_count
           && session->step_plan.sites[at] != hash) {
        at++;
    }
    if (at == session->step_plan.site_count && at < FD_STEP_SITES) {
        add_site(session, thread, caller, callee, hash);
    }
    return at < session->step_plan.site_count ? at : FD_NO_SITE;
}
