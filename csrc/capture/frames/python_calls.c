#include "capture/frames/python_calls.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "capture/frames/notebook_calls.h"
#include "capture/process/guard.h"
#include "capture/process/thread_names.h"
#include "capture/python/utf8_text.h"
#include "capture/timers/call_timers.h"

#include <errno.h>

/* Number of frames that a match can add without an allocation. */
enum { SHORT_WALK = 64 };

static void
tick_tree(const fd_thread *thread)
{
    if (thread->session->timed) {
        fd_tree_tick(thread->tree, fd_clock_ticks());
    }
}

/* Return the context of a call from `caller`, and predict it for the next call
 * from the current context. */
static fd_context *
context_of(fd_tree *tree, fd_context *caller, const fd_function *function,
           const fd_code *known)
{
    fd_context *context = fd_tree_unfolded(tree, caller, &function->callee);
    context->callee = known->id;
    context->receiver = function->receiver;
    fd_tree_note(tree, fd_tree_id(tree, context));
    return context;
}

/* Return the cache slot of a call from the current context. */
static uint32_t *
recent_slot(fd_tree *tree, const fd_code *known, const PyTypeObject *type)
{
    uint64_t index =
        (uint64_t)fd_tree_id(tree, tree->current) << 32 | known->id;
    uint64_t hash = fd_hash_next(fd_hash_word(index), (uintptr_t)type);
    return &tree->recent[hash % FD_TREE_RECENT];
}

fd_context *
fd_calls_recent(fd_tree *tree, const fd_code *known, const PyTypeObject *type)
{
    uint32_t id = *recent_slot(tree, known, type);
    fd_context *context = fd_tree_context(tree, id);
    if (context->parent != fd_tree_id(tree, tree->current)
        || !fd_calls_is(context, known, type)) {
        return NULL;
    }
    fd_tree_note(tree, id);
    return context;
}

/* Return the cached context of an earlier call from the current context, or
 * NULL. The forward of a module is not cached, because the class does not
 * identify the instance. */
static fd_context *
repeated_call(fd_tree *tree, const fd_code *known, const PyTypeObject *type)
{
    if ((known->special & (FD_CODE_FORWARD | FD_CODE_BODY)) != 0) {
        return NULL;
    }
    fd_context *context = fd_calls_repeated(tree, known, type);
    if (context == NULL) {
        return fd_calls_recent(tree, known, type);
    }
    tree->current->last_child = fd_tree_id(tree, context);
    return context;
}

/* Return the folded context that absorbs a call, or NULL if the call is
 * recorded; `caller` is then set to the context that it is called from. */
static fd_context *
absorbing_context(fd_thread *thread, const PyCodeObject *code,
                  const fd_code *known, fd_context **caller)
{
    fd_tree *tree = thread->tree;
    fd_context *context = fd_tree_absorbing(tree, tree->current);
    *caller = tree->current;
    if (context == NULL) {
        return fd_notebook_absorbing(thread, code, known);
    }
    if (fd_notebook_unfolds(thread, code, known)) {
        *caller = fd_notebook_caller(tree);
        return NULL;
    }
    return context;
}

/* Return the context of a call that is neither cached nor folded. Return NULL
 * for a dropped function, or if the recording has ended. */
static fd_context *
resolve_call(fd_thread *thread, PyCodeObject *code, const fd_code *known,
             const fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    fd_context *caller;
    fd_context *context = absorbing_context(thread, code, known, &caller);
    if (context != NULL && !fd_function_unfolds(thread, code, known)) {
        return context;
    }
    fd_function function = fd_function_of(thread, code, known, frame);
    if (function.dropped || fd_process_generation() != thread->synced) {
        return NULL;
    }
    uint32_t *slot = recent_slot(tree, known, fd_receiver_type(known, frame));
    context = context_of(tree, caller, &function, known);
    *slot = fd_tree_id(tree, context);
    return context;
}

/* Push an entry and return its depth. FD_NO_ENTRY: the stack is full, and the
 * call runs in the context of its caller. */
static uint32_t
push_call(fd_thread *thread, fd_context *context, const fd_frame *frame,
          uint32_t flags)
{
    fd_tree *tree = thread->tree;
    if (!fd_stack_make_room(tree)) {
        thread->beyond++;
        return FD_NO_ENTRY;
    }
    fd_tree_push(tree, context, fd_tree_id(tree, context), frame, flags);
    return fd_tree_depth(tree) - 1;
}

uint32_t
fd_calls_enter(fd_thread *thread, PyCodeObject *code, const fd_code *known,
               fd_frame *frame)
{
    uint16_t special = known->special;
    tick_tree(thread);
    fd_context *context =
        repeated_call(thread->tree, known, fd_receiver_type(known, frame));
    if (context == NULL) {
        uint32_t generation = thread->synced;
        context = resolve_call(thread, code, known, frame);
        if (fd_process_generation() != generation) {
            return FD_NO_ENTRY;
        }
    }
    if (context == NULL) {
        return push_call(thread, thread->tree->current, frame,
                         FD_ENTRY_FRAME | FD_ENTRY_CONTRACTED);
    }
    if ((special & FD_CODE_GENERATOR) != 0 && fd_frame_is_resumed(frame)) {
        context->resumes++;
    }
    else {
        context->calls++;
    }
    return push_call(thread, context, frame,
                     (special & FD_CODE_ENTERS) != 0
                         ? FD_ENTRY_FRAME | FD_ENTRY_ENTERS
                         : FD_ENTRY_FRAME);
}

void
fd_calls_enter_unhooked(fd_thread *thread, PyCodeObject *code,
                        const fd_code *known, fd_frame *frame)
{
    uint32_t depth = fd_calls_enter(thread, code, known, frame);
    if (depth != FD_NO_ENTRY) {
        thread->tree->stack[depth].flags |= FD_ENTRY_UNHOOKED;
    }
    thread->frame = frame;
}

void
fd_calls_leave(fd_thread *thread, uint32_t depth, const fd_frame *frame,
               const fd_frame *caller)
{
    fd_tree *tree = thread->tree;
    tick_tree(thread);
    if (depth == FD_NO_ENTRY
        || (thread->beyond > 0 && depth >= fd_tree_depth(tree))) {
        thread->beyond -= thread->beyond > 0;
        thread->frame = caller;
        return;
    }
    int64_t at = depth;
    if (depth >= fd_tree_depth(tree)
        || tree->stack[depth].owner != (uintptr_t)frame) {
        at = fd_stack_find(tree, frame, FD_ENTRY_FRAME);
    }
    if (at >= 0) {
        fd_thread_end_timers(thread, (uint32_t)at, true);
        fd_stack_close(tree, (uint32_t)at);
    }
    thread->frame = at >= 0 ? caller : NULL;
}

/* Return whether `frame` is a running constructor that 3.13 entered without
 * the evaluator hook and that no event counts. */
static bool
is_uncounted(const fd_thread *thread, const fd_frame *frame)
{
#if FD_HAS_HIDDEN_CONSTRUCTORS
    const PyCodeObject *code = fd_frame_code(frame);
    return thread->session->calls == FD_CALLS_FRAME
        && PyUnicode_CompareWithASCIIString(code->co_name, "__init__") == 0;
#else
    (void)thread;
    (void)frame;
    return false;
#endif
}

/* Return the tick at which a call began, by the stack before it is rebuilt, or
 * 0. Its entry was at the same depth or above. A watched step does not update
 * the stack: another call of a function that has returned may have the same
 * frame. */
static uint64_t
start_before(const fd_thread *thread, const fd_code *known,
             const fd_frame *frame)
{
    const fd_tree *tree = thread->tree;
    uint32_t at = fd_tree_depth(tree);
    while (at < thread->earlier && tree->stack[at].owner != (uintptr_t)frame) {
        at++;
    }
    if (at >= thread->earlier || tree->events.chunk != NULL
        || known->returned == thread->serial) {
        return 0; /* events of a timeline begin with the window */
    }
    const fd_entry *entry = &tree->stack[at];
    if ((entry->flags & FD_ENTRY_FOLLOWED) == 0) {
        const fd_context *context = fd_tree_context(tree, entry->context);
        return context->callee == known->id ? entry->start : 0;
    }
    const fd_header *header = fd_file_header(&tree->recording->file);
    return FD_FOLLOWED(entry->start >> FD_FOLLOWED_TICK_BITS, 0)
                == FD_FOLLOWED(known->id, 0)
             ? fd_followed_tick(entry->start, header->start.ticks)
             : 0;
}

/* Follow a call that has begun before. */
static void
follow_begun(fd_thread *thread, const fd_code *known, const fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    uint64_t start = start_before(thread, known, frame);
    fd_calls_follow(thread, known, frame);
    if (start != 0 && fd_tree_depth(tree) > depth) {
        tree->stack[depth].start = FD_FOLLOWED(known->id, start);
    }
}

/* Push an entry for a call that has begun before. */
static void
push_begun(fd_thread *thread, fd_context *context, const fd_code *known,
           const fd_frame *frame, uint32_t flags)
{
    uint64_t start = start_before(thread, known, frame);
    uint32_t depth = push_call(thread, context, frame, flags);
    if (start != 0 && depth != FD_NO_ENTRY) {
        thread->tree->stack[depth].start = start;
    }
}

static void
push_unhooked(fd_thread *thread, fd_frame *frame, bool synced)
{
    PyCodeObject *code = fd_frame_code(frame);
    const fd_code *known = fd_code_of(thread, code);
    if (known == NULL
        || (known->special & (FD_CODE_PLUMBING | FD_CODE_MUTED)) != 0) {
        return;
    }
    if (fd_calls_is_following(thread)) {
        follow_begun(thread, known, frame);
        return;
    }
    uint32_t generation = fd_process_generation();
    fd_function function = fd_function_of(thread, code, known, frame);
    if (fd_process_generation() != generation) {
        return;
    }
    uint32_t flags = FD_ENTRY_FRAME | FD_ENTRY_UNHOOKED;
    fd_tree *tree = thread->tree;
    fd_context *caller;
    fd_context *context = absorbing_context(thread, code, known, &caller);
    if (context != NULL) {
        push_begun(thread, context, known, frame, flags);
        return;
    }
    context = tree->current;
    if (function.dropped) {
        flags |= FD_ENTRY_CONTRACTED;
    }
    else {
        context = context_of(tree, caller, &function, known);
    }
    if (synced && is_uncounted(thread, frame)) {
        context->flags |= FD_CONTEXT_HIDDEN;
        context->calls++;
        fd_file_count(&thread->tree->recording->file, FD_COUNT_HIDDEN_FRAMES);
    }
    push_begun(thread, context, known, frame, flags);
}

/* Map addresses of frames to their entries, for deep stacks: a linear search
 * per frame would take minutes. */
static fd_map
entries_by_frame(const fd_tree *tree)
{
    fd_map map = {NULL, 0, 0};
    for (uint32_t at = 0; at < fd_tree_depth(tree); at++) {
        const fd_entry *entry = &tree->stack[at];
        if ((entry->flags & FD_ENTRY_FRAME) != 0
            && fd_map_put(&map, entry->owner, at + 1) != FD_OK) {
            break; /* inner frames are treated as unknown */
        }
    }
    return map;
}

static bool
is_hooked(const fd_tree *tree, const fd_frame *frame)
{
    int64_t at = fd_stack_find(tree, frame, FD_ENTRY_FRAME);
    return at >= 0 && (tree->stack[at].flags & FD_ENTRY_UNHOOKED) == 0;
}

/* Return the nearest Python frame at or above `frame`. A frame whose start is
 * yet to be reported runs in its caller until then. */
static fd_frame *
started_frame(const fd_tree *tree, fd_frame *frame)
{
    frame = fd_frame_python(frame);
    while (frame != NULL && fd_frame_is_starting(frame)
           && !is_hooked(tree, frame)) {
        frame = fd_frame_python(frame->previous);
    }
    return frame;
}

/* Count the Python frames from `current` outwards to the first one with an
 * entry. Set `at` to the index of that entry, or -1. */
static uint32_t
count_unknown(const fd_tree *tree, fd_frame *current, int64_t *at)
{
    uint32_t count = 0;
    fd_map map = {NULL, 0, 0};
    *at = -1;
    for (fd_frame *frame = current; frame != NULL;
         frame = started_frame(tree, frame->previous)) {
        if (count == SHORT_WALK) {
            map = entries_by_frame(tree);
        }
        *at = count < SHORT_WALK
                ? fd_stack_find(tree, frame, FD_ENTRY_FRAME)
                : (int64_t)fd_map_get(&map, (uintptr_t)frame) - 1;
        if (*at >= 0) {
            break;
        }
        count++;
    }
    fd_map_clear(&map);
    return count;
}

/* Match the stack with the Python frames of the thread, of which `current` is
 * the innermost: close entries of frames that have ended, add entries for new
 * frames. The added calls are not counted, except constructors that 3.13
 * enters without the hook. */
static void
match_frames(fd_thread *thread, fd_frame *current)
{
    int64_t at;
    fd_frame *few[SHORT_WALK];
    fd_frame *frame = started_frame(thread->tree, current);
    uint32_t count = count_unknown(thread->tree, frame, &at);
    fd_frame **frames =
        count <= SHORT_WALK ? few : fd_malloc(count * sizeof(fd_frame *));
    bool synced = thread->synced == fd_process_generation();
    if (!fd_calls_is_following(thread)) {
        tick_tree(thread);
    }
    fd_stack_close(thread->tree, (uint32_t)(at + 1));
    thread->beyond = 0;
    thread->frame = frame;
    thread->unhooked = frame;
    if (frames == NULL) {
        return; /* the call is added to the innermost known frame */
    }
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = frame;
        frame = started_frame(thread->tree, frame->previous);
    }
    while (count > 0) {
        push_unhooked(thread, frames[--count], synced);
    }
    thread->frame = thread->unhooked;
    if (frames != few) {
        fd_free(frames);
    }
}

static bool
attach_thread(fd_thread *thread, fd_session *session, PyThreadState *state,
              fd_frame *caller, fd_frame *frame)
{
    PyObject *name = fd_thread_name(thread, caller, frame);
    bool attached = fd_thread_attach(thread, session, fd_utf8(name, NULL));
    thread->state = name != NULL || fd_thread_is_main() ? state : NULL;
    Py_XDECREF(name);
    thread->frame = NULL;
    thread->unhooked = NULL;
    return attached;
}

/* Begin a new generation: start with an empty stack and add the current
 * frames. */
static bool
synchronise_thread(fd_thread *thread, fd_session *session,
                   PyThreadState *state, fd_frame *caller, fd_frame *frame)
{
    uint32_t generation = fd_process_generation();
    bool attached = attach_thread(thread, session, state, caller, frame);
    if (attached) {
        thread->earlier = fd_tree_depth(thread->tree);
        fd_tree_start(thread->tree);
    }
    if (attached && session->calls != FD_CALLS_OFF) {
        match_frames(thread, caller);
    }
    thread->earlier = 0;
    thread->synced = generation;
    return attached;
}

static bool
prepare_thread(fd_session *session, PyThreadState *state, fd_frame *caller,
               fd_frame *frame)
{
    fd_thread *thread = fd_thread_get();
    if (thread == NULL || thread->busy) {
        return false;
    }
    if (thread->synced != fd_process_generation()) {
        synchronise_thread(thread, session, state, caller, frame);
    }
    if (thread->tree == NULL || thread->serial != session->serial) {
        return false;
    }
    if (caller != thread->frame && session->calls != FD_CALLS_OFF
        && started_frame(thread->tree, caller) != thread->frame) {
        match_frames(thread, caller);
    }
    fd_stack_settle(thread->tree);
    thread->generation = thread->tree->pending == 0 ? thread->synced : 0;
    return thread->synced == fd_process_generation();
}

void
fd_calls_keep_deadline(fd_session *session)
{
    const fd_thread *thread = fd_thread_get();
    if (thread != NULL && !thread->busy
        && fd_clock_ticks() > fd_process_deadline()) {
        session->deadline_passed(session);
    }
}

/* fd_calls_keep_deadline before a call. */
static void
keep_deadline(fd_session *session, const fd_frame *frame)
{
    if (frame != NULL) {
        fd_calls_keep_deadline(session);
    }
}

bool
fd_calls_prepare(PyThreadState *state, fd_frame *caller, fd_frame *frame)
{
    fd_session *session = fd_process_active();
    if (session == NULL || !session->running) {
        return false;
    }
    int error = errno;
    keep_deadline(session, frame);
    bool ready = fd_process_active() == session && session->running
              && prepare_thread(session, state, caller, frame);
    errno = error;
    return ready;
}

/* attach_thread for a thread whose stack is not used further. */
static bool
attach_unrecorded(fd_thread *thread, fd_session *session, PyThreadState *state,
                  fd_frame *caller, fd_frame *frame)
{
    if (!attach_thread(thread, session, state, caller, frame)) {
        return false;
    }
    thread->earlier = fd_tree_depth(thread->tree);
    fd_tree_close(thread->tree, 0);
    thread->tree->pending = 0;
    thread->tree->record->running = FD_THREAD_RUNS;
    return true;
}

void
fd_calls_watch_thread(fd_thread *thread, PyThreadState *state, fd_frame *frame)
{
    fd_session *session = fd_process_active();
    int error = errno;
    if ((thread->tree == NULL || thread->serial != session->serial)
        && attach_unrecorded(thread, session, state, NULL, frame)) {
        thread->tree->record->running = FD_THREAD_WATCHED;
        thread->earlier = 0;
    }
    errno = error;
}

static bool
follow_thread(fd_session *session, PyThreadState *state, fd_frame *caller,
              fd_frame *frame)
{
    fd_thread *thread = fd_thread_get();
    if (thread == NULL || thread->busy) {
        return false;
    }
    if (!fd_calls_is_following(thread)) {
        if (!attach_unrecorded(thread, session, state, caller, frame)) {
            return false;
        }
        thread->followed = fd_process_generation();
    }
    if (caller != thread->frame
        && started_frame(thread->tree, caller) != thread->frame) {
        match_frames(thread, caller);
    }
    thread->earlier = 0;
    return fd_calls_is_following(thread);
}

fd_thread *
fd_calls_follow_from(PyThreadState *state, fd_frame *caller, fd_frame *frame)
{
    fd_session *session = fd_process_active();
    if (session == NULL || session->running) {
        return NULL;
    }
    int error = errno;
    keep_deadline(session, frame);
    bool follows =
        fd_process_active() == session && !session->running
        && follow_thread(session, state, fd_frame_python(caller), frame);
    errno = error;
    return follows ? fd_thread_self : NULL;
}

fd_thread *
fd_calls_ending(PyThreadState *state, fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread == NULL || thread->busy || thread->tree == NULL
        || thread->synced != fd_process_generation()
        || thread->serial != fd_process_serial()) {
        return fd_calls_prepare(state, frame, NULL) ? fd_thread_self : NULL;
    }
    if (thread->frame != frame) {
        int error = errno;
        match_frames(thread, frame);
        errno = error;
    }
    return thread;
}

fd_thread *
fd_calls_ready(void)
{
    PyThreadState *state = PyThreadState_Get();
    fd_frame *caller = fd_frame_python(fd_frame_current(state));
    return fd_calls_prepare(state, caller, NULL) ? fd_thread_self : NULL;
}
