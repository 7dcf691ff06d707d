#include "capture/session/quiet_calls.h"

#include "capture/frames/code_nodes.h"
#include "capture/frames/python_calls.h"
#include "capture/hooks/frame_hook.h"
#include "capture/hooks/quiet_frames.h"
#include "capture/process/thread_names.h"
#include "capture/process/thread_stack.h"
#include "capture/python/interpreters.h"
#include "recording/recording.h"

#include <errno.h>

enum {
    /* Ends of waits matter in recorded steps only. */
    NEED_HOOK = FD_CODE_EVENTS & ~FD_CODE_WAITS,
    /* These need it only at their own start and end. */
    NEED_HOOK_AROUND = FD_CODE_BACKWARD | FD_CODE_OPTIMIZER,
    FOLLOWED_NS = 500,     /* cost of a followed call in a training */
    SHARE_FOLLOWED = 1000, /* they may cost one in this many parts of a step */
    QUIET_CALLS = 2,       /* a quiet call costs as much as so many, */
    LEAST_BELOW = 2,       /* so it is worth it with so many calls below */
    /* Assumed cost of a call below one that is not quiet in a step, with what
     * CPython does to specialize it again; such steps may cost one in this many
     * parts of a run. */
    OPENED_NS = 400,
    SHARE_OPEN = 500,
    FEWEST_PER_OPEN = 16, /* steps */
    MOST_PER_OPEN = 256,
    /* Shorter calls are never opened. A look for longer ones costs 30 us. */
    SHORTEST_NS = 100000000,
    LEAST_REPORTED = 8, /* calls of optimizers */
    ROUNDS = 8          /* of recursion through recursion */
};

/* Where a call needs the hook: nowhere, at its start and end, or inside, too.
 * The calls around an optimizer or a backward pass may do without. */
enum { HOOK_AROUND = 1, HOOK_INSIDE, HOOK_OPTIMIZER, HOOK_BACKWARD };

/* The loss of a call that must not be quiet. */
#define LOUD (UINT32_MAX - 1)

/* A context of the tree of the thread that ends the steps. */
typedef struct listed_call {
    uint64_t key;      /* of fd_quiet_plan.calls; 0: not a Python call */
    uint32_t parent;   /* index; that of itself for the root */
    uint32_t function; /* index + 1; 0: not a Python call */
    uint32_t loss;     /* calls of the user's code in it, or LOUD */
    uint8_t hook;      /* HOOK_*, or 0 */
    bool steps;        /* an optimizer without a hook is below */
    bool passes;       /* a backward pass is below, outside of optimizers */
    bool hidden;       /* is below a quiet call */
    float calls;       /* in a usual step */
    float below;       /* calls below it in a usual step */
} listed_call;

/* All calls of a function and class. */
typedef struct listed_function {
    uint32_t loss; /* the greatest one */
    bool inner;    /* has Python calls below it */
    float calls;
    float below;
} listed_function;

typedef struct call_list {
    FD_VECTOR(listed_call) calls; /* callers first */
    FD_VECTOR(listed_function) functions;
    fd_map by_context; /* id -> index of the call + 1 */
    fd_map by_key;     /* key -> index of the function + 1 */
} call_list;

static uint32_t
sum_of_losses(uint32_t a, uint32_t b)
{
    return a >= LOUD - b ? LOUD : a + b;
}

/* Return whether PyTorch reports the end of each call. Other functions that
 * call optimizers may omit them. */
static bool
is_reported(const fd_code *known, const fd_session *session)
{
    return session->step_plan.reported >= LEAST_REPORTED
        && PyUnicode_CompareWithASCIIString(
               known->code->co_qualname,
               "Optimizer.profile_hook_step.<locals>.wrapper")
               == 0;
}

static uint32_t
hook_of_code(const fd_code *known, const fd_session *session)
{
    uint16_t needs = known->special & NEED_HOOK;
    if ((needs & ~NEED_HOOK_AROUND) != 0) {
        return HOOK_INSIDE;
    }
    if ((needs & FD_CODE_OPTIMIZER) != 0) {
        return is_reported(known, session) ? HOOK_OPTIMIZER : HOOK_AROUND;
    }
    return needs != 0 ? HOOK_BACKWARD : 0;
}

/* Map the ids of code that needs the hook to HOOK_*. */
static bool
map_codes(fd_map *codes, const fd_session *session)
{
    for (const fd_code *at = fd_process.known; at != NULL; at = at->next) {
        uint32_t hook = hook_of_code(at, session);
        if (hook != 0 && fd_map_put(codes, at->id, hook) != FD_OK) {
            return false;
        }
    }
    return true;
}

static const fd_node *
node_of(const fd_tree *tree, const fd_context *context)
{
    return fd_file_record(&tree->recording->file, context->node);
}

static bool
is_python(const fd_tree *tree, const fd_context *context)
{
    return context->node != 0
        && node_of(tree, context)->kind == FD_NODE_PYTHON;
}

/* Return where a call needs the hook, or 0. */
static uint32_t
hook_of(const fd_tree *tree, const fd_context *context, const fd_map *codes)
{
    if (context == tree->overflow && context->calls > 0) {
        return HOOK_INSIDE;
    }
    return is_python(tree, context) ? fd_map_get(codes, context->callee) : 0;
}

/* Return the calls of a context in a step, if it is part of most steps. */
static float
calls_per_step(const fd_tree *tree, const fd_context *context,
               const fd_spread *spread)
{
    uint64_t steps = fd_file_header(&tree->recording->file)->steps;
    return spread == NULL || steps == 0 || 2 * spread->steps < steps
             ? 0
             : (float)(context->calls + context->resumes) / (float)steps;
}

static bool
list_call(call_list *list, const fd_tree *tree, const fd_context *context,
          const fd_spread *spread, const fd_map *codes)
{
    uint32_t index = list->calls.count;
    uint32_t parent = fd_map_get(&list->by_context, context->parent);
    listed_call call = {.parent = parent > 0 ? parent - 1 : index};
    if (is_python(tree, context)) {
        call.key = (uint64_t)context->callee << 32 | context->receiver;
        call.loss = node_of(tree, context)->from == FD_FROM_USER;
        call.calls = calls_per_step(tree, context, spread);
    }
    call.hook = (uint8_t)hook_of(tree, context, codes);
    call.loss = call.hook == HOOK_INSIDE ? LOUD : call.loss;
    return fd_map_put(&list->by_context, fd_tree_id(tree, context), index + 1)
            == FD_OK
        && fd_vector_push(&list->calls, call) == FD_OK;
}

/* Add what is known of a call to the one around it. A function that is called
 * less often than every second step, such as an epoch, hides no step. */
static void
add_to_parent(listed_call *parent, const listed_call *call, bool closures)
{
    uint32_t loss = call->hook == HOOK_AROUND ? LOUD : call->loss;
    parent->loss = sum_of_losses(parent->loss, loss);
    parent->below += call->calls + call->below;
    parent->steps |= call->steps || call->hook == HOOK_OPTIMIZER;
    parent->passes |=
        call->hook == HOOK_BACKWARD
        || (call->passes && !(closures && call->hook == HOOK_OPTIMIZER));
    bool hides = parent->key != 0 && (parent->steps || parent->passes);
    if (hides && 2 * parent->calls < 1) {
        parent->loss = LOUD;
    }
}

/* Combine each call with those below it. */
static void
combine_calls(call_list *list, const fd_rounds *rounds)
{
    bool steady = fd_rounds_usual_passes(rounds) > 0;
    for (uint32_t i = list->calls.count; i-- > 0;) {
        listed_call *call = &list->calls.list[i];
        listed_call *parent = &list->calls.list[call->parent];
        if (parent != call) {
            add_to_parent(parent, call, fd_rounds_has_closures(rounds));
        }
        call->loss = call->passes && !steady ? LOUD : call->loss;
    }
}

static bool
list_calls(call_list *list, const fd_tree *tree, const fd_map *codes)
{
    const fd_file *file = &tree->recording->file;
    for (uint32_t i = 0; i < tree->chunks.count; i++) {
        fd_chunk *chunk = tree->chunks.list[i];
        const fd_context *contexts = fd_chunk_records(chunk);
        const fd_spread *spreads = fd_tree_spreads(file, chunk);
        for (uint32_t k = 0; k < chunk->used; k++) {
            if (!list_call(list, tree, &contexts[k],
                           spreads != NULL ? &spreads[k] : NULL, codes)) {
                return false;
            }
        }
    }
    return true;
}

/* Let a recursive call lose as much as the ancestor that counts it. Return
 * whether a loss has changed. */
static bool
add_recursion(const call_list *list, const fd_alias *alias)
{
    uint32_t at = fd_map_get(&list->by_context, alias->parent);
    uint32_t target = fd_map_get(&list->by_context, alias->target);
    if (at == 0 || target == 0) {
        return false;
    }
    const listed_call *counted = &list->calls.list[target - 1];
    uint32_t loss = counted->hook != 0 ? LOUD : counted->loss;
    bool changed = false;
    for (uint32_t i = at - 1; list->calls.list[i].loss < loss;
         i = list->calls.list[i].parent) {
        list->calls.list[i].loss = loss;
        changed = true;
    }
    return changed;
}

/* Return false if the losses do not settle. */
static bool
add_recursions(const call_list *list, const fd_tree *tree)
{
    bool changed = true;
    for (int round = 0; changed && round < ROUNDS; round++) {
        changed = false;
        for (uint32_t i = 0; i < tree->aliases.count; i++) {
            changed |= add_recursion(list, &tree->aliases.list[i]);
        }
    }
    return !changed;
}

/* Return the function of a Python call, or NULL. */
static listed_function *
function_of(const call_list *list, const listed_call *call)
{
    return call->function > 0 ? &list->functions.list[call->function - 1]
                              : NULL;
}

/* Find the function of a Python call, or add it. */
static bool
find_function(call_list *list, listed_call *call)
{
    listed_function added = {.loss = 0};
    call->function = fd_map_get(&list->by_key, call->key);
    if (call->function == 0) {
        call->function = list->functions.count + 1;
        return fd_vector_push(&list->functions, added) == FD_OK
            && fd_map_put(&list->by_key, call->key, call->function) == FD_OK;
    }
    return true;
}

/* Join the calls of each function and class. */
static bool
join_calls(call_list *list)
{
    for (uint32_t i = 0; i < list->calls.count; i++) {
        listed_call *call = &list->calls.list[i];
        if (call->key == 0) {
            continue;
        }
        if (!find_function(list, call)) {
            return false;
        }
        listed_function *function = &list->functions.list[call->function - 1];
        function->loss =
            call->loss > function->loss ? call->loss : function->loss;
        function->calls += call->calls;
        function->below += call->below;
        const listed_call *parent = &list->calls.list[call->parent];
        listed_function *caller = function_of(list, parent);
        if (parent != call && caller != NULL) {
            caller->inner = true;
        }
    }
    return true;
}

static bool
is_quiet(const call_list *list, const listed_call *call, uint32_t most)
{
    const listed_function *function = function_of(list, call);
    return function != NULL && function->inner && function->loss <= most
        && function->below >= LEAST_BELOW * function->calls;
}

/* Return the cost of a step, in followed calls, if calls with this loss are
 * quiet. Set `next` to the smallest greater loss, or LOUD. */
static float
count_followed(const call_list *list, uint32_t most, uint32_t *next)
{
    float calls = 0;
    *next = LOUD;
    for (uint32_t i = 0; i < list->calls.count; i++) {
        listed_call *call = &list->calls.list[i];
        const listed_call *parent = &list->calls.list[call->parent];
        bool opens = parent->calls > 0 && is_quiet(list, parent, most);
        call->hidden = parent != call && (parent->hidden || opens);
        const listed_function *function = function_of(list, call);
        if (function != NULL && function->loss > most
            && function->loss < *next) {
            *next = function->loss;
        }
        calls += call->hidden               ? 0
               : is_quiet(list, call, most) ? QUIET_CALLS * call->calls
                                            : call->calls;
    }
    return calls;
}

/* Return the smallest loss at which the followed calls are cheap enough. */
static uint32_t
choose_loss(const call_list *list, double step_ns)
{
    uint32_t most = 0;
    uint32_t next;
    while (count_followed(list, most, &next) * FOLLOWED_NS * SHARE_FOLLOWED
               > step_ns
           && next != LOUD) {
        most = next;
    }
    return most;
}

/* Return in how many steps one is open, so that those cost little. */
static uint32_t
rate_of_open_steps(const call_list *list, double step_ns)
{
    double ns = 0;
    for (uint32_t i = 0; i < list->calls.count; i++) {
        const listed_call *call = &list->calls.list[i];
        ns += call->hidden ? OPENED_NS * (double)call->calls : 0;
    }
    uint32_t rate = FEWEST_PER_OPEN;
    while (rate < MOST_PER_OPEN && ns * SHARE_OPEN > step_ns * rate) {
        rate *= 2;
    }
    return rate;
}

/* Return the mean time of a step after the first one, ns. */
static double
usual_step(const fd_session *session)
{
    uint64_t ticks = fd_clock_ticks() - session->partial.first_ended;
    uint64_t steps = session->step > 1 ? session->step - 1 : 1;
    return (double)ticks / fd_clock_hertz() * 1e9 / (double)steps;
}

/* Store the functions and classes, and the functions alone. */
static bool
store_choice(fd_quiet_plan *plan, const call_list *list, uint32_t most)
{
    for (uint32_t i = 0; i < list->calls.count; i++) {
        const listed_call *call = &list->calls.list[i];
        if (!is_quiet(list, call, most)) {
            continue;
        }
        if (fd_map_put(&plan->calls, call->key, 1) != FD_OK
            || fd_map_put(&plan->calls, call->key >> 32, 1) != FD_OK) {
            return false;
        }
        plan->hides_steps |= call->steps;
        plan->hides_passes |= call->passes;
    }
    return true;
}

/* Return whether code that needs the hook was called in another thread. */
static bool
others_need_hook(const fd_tree *own, const fd_map *codes)
{
    const fd_tree *tree = own->recording->trees;
    for (; tree != NULL; tree = tree->next) {
        for (uint32_t i = 0; tree != own && i < tree->chunks.count; i++) {
            fd_chunk *chunk = tree->chunks.list[i];
            const fd_context *contexts = fd_chunk_records(chunk);
            for (uint32_t k = 0; k < chunk->used; k++) {
                if (hook_of(tree, &contexts[k], codes) != 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Choose the calls of a tree. Return false if it has nothing quiet, or memory is short. */
static bool
choose_calls(fd_session *session, const fd_tree *tree, double step)
{
    call_list list = {.by_context = {.entries = NULL}};
    fd_map codes = {.entries = NULL};
    bool chosen = map_codes(&codes, session) && !others_need_hook(tree, &codes)
               && list_calls(&list, tree, &codes);
    if (chosen) {
        combine_calls(&list, &session->step_plan.rounds);
        chosen =
            add_recursions(&list, tree) && join_calls(&list)
            && store_choice(&session->quiet, &list, choose_loss(&list, step));
        session->quiet.steps_per_open = rate_of_open_steps(&list, step);
    }
    fd_vector_clear(&list.calls);
    fd_map_clear(&list.by_context);
    fd_map_clear(&list.by_key);
    fd_vector_clear(&list.functions);
    fd_map_clear(&codes);
    return chosen;
}

static uint64_t
count_contexts(const fd_recording *recording)
{
    uint64_t count = 0;
    for (const fd_tree *at = recording->trees; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < at->chunks.count; i++) {
            count += at->chunks.list[i]->used;
        }
    }
    return count;
}

static void
set_patience(uint64_t ticks)
{
    atomic_store_explicit(&fd_process.patience, ticks, memory_order_relaxed);
}

static void
choose_again(fd_session *session, fd_thread *thread, uint64_t contexts)
{
    fd_quiet_plan *plan = &session->quiet;
    double step = usual_step(session);
    fd_quiet_forget(session);
    plan->contexts = contexts;
    if (fd_thread_has_greenlets(thread)
        || !choose_calls(session, thread->tree, step)) {
        fd_map_clear(&plan->calls);
    }
    for (fd_code *at = fd_process.known; at != NULL; at = at->next) {
        at->quiet = fd_map_get(&plan->calls, at->id) != 0;
    }
    double patience = step > SHORTEST_NS ? step : SHORTEST_NS;
    set_patience(plan->calls.count == 0
                     ? 0
                     : (uint64_t)(patience / 1e9 * fd_clock_hertz()));
}

void
fd_quiet_choose(fd_session *session)
{
    fd_thread *thread = fd_thread_self;
    fd_quiet_plan *plan = &session->quiet;
    if (session->calls != FD_CALLS_FRAME || session->partial.budget == 0
        || session->stuck || plan->refused || thread == NULL
        || thread != plan->thread || thread->session != session
        || thread->tree == NULL || !fd_thread_is_main()) {
        return;
    }
    uint64_t contexts = count_contexts(session->recording);
    if (contexts != plan->contexts) {
        choose_again(session, thread, contexts);
    }
}

void
fd_quiet_step(fd_session *session, const fd_thread *thread)
{
    fd_quiet_plan *plan = &session->quiet;
    if (!plan->reporting) {
        fd_frame_hook_reopen(false);
    }
    if (plan->thread != NULL && plan->thread != thread) {
        plan->refused = true;
        fd_map_clear(&plan->calls);
        set_patience(0);
    }
    plan->thread = thread;
}

/* A pending call: follow the calls below a quiet call that takes long. */
static int
follow_long_call(void *unused)
{
    (void)unused;
    int error = errno;
    fd_session *session = fd_process_active();
    PyThreadState *state = PyThreadState_Get();
    if (session != NULL && !session->running && fd_interpreter_is_main()
        && fd_frame_hook_reopen(true)) {
        fd_calls_following(state, fd_frame_current(state), NULL);
    }
    errno = error;
    return 0;
}

uint64_t
fd_quiet_alarm(uint64_t now)
{
    uint64_t patience =
        atomic_load_explicit(&fd_process.patience, memory_order_relaxed);
    if (fd_quiet_is_long()) {
        fd_frame_add_pending_call(follow_long_call);
    }
    return patience == 0 ? UINT64_MAX : now + patience;
}
