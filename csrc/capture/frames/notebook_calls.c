#include "capture/frames/notebook_calls.h"

#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"

#include <string.h>

/* The owner of a code object; values of session->owners, where 0 is
 * unknown. */
typedef enum fd_owner { FD_PROGRAM = 1, FD_KERNEL, FD_LIBRARY } fd_owner;

static bool
is_kernel(const char *file)
{
    return strstr(file, "/ipykernel/") != NULL
        || strstr(file, "/IPython/") != NULL;
}

static fd_owner
find_owner(fd_thread *thread, const PyCodeObject *code)
{
    fd_file_package found;
    fd_guard guard = fd_guard_enter(thread);
    PyObject *text = fd_utf8_text_of(code->co_filename);
    const char *file = fd_utf8(text, "");
    fd_paths_package(&thread->session->paths, file, &found);
    fd_owner owner = is_kernel(file)            ? FD_KERNEL
                   : found.from == FD_FROM_USER ? FD_PROGRAM
                                                : FD_LIBRARY;
    Py_XDECREF(text);
    fd_guard_leave(&guard);
    return owner;
}

static fd_owner
owner_of(fd_thread *thread, const PyCodeObject *code, const fd_code *known)
{
    fd_map *owners = &thread->session->owners;
    fd_owner owner = (fd_owner)fd_map_get(owners, known->id);
    if (owner == 0) {
        owner = find_owner(thread, code);
        fd_map_put(owners, known->id, (uint32_t)owner);
    }
    return owner;
}

void
fd_notebook_begin(fd_session *session)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    PyThreadState *state = PyInterpreterState_ThreadHead(interpreter);
    for (; state != NULL; state = PyThreadState_Next(state)) {
        if (state->id > session->kernel_threads) {
            session->kernel_threads = state->id;
        }
    }
}

/* Return whether no call of the program is open on a thread of the kernel. */
static bool
is_outside(const fd_thread *thread)
{
    return fd_tree_depth(thread->tree) == 0 && thread->state != NULL
        && thread->state->id <= thread->session->kernel_threads;
}

fd_context *
fd_notebook_absorbing(fd_thread *thread, const PyCodeObject *code,
                      const fd_code *known)
{
    if (thread->session->kernel_threads == 0) {
        return NULL;
    }
    fd_owner owner = owner_of(thread, code, known);
    if (owner == FD_PROGRAM || (owner == FD_LIBRARY && !is_outside(thread))) {
        return NULL;
    }
    fd_tree *tree = thread->tree;
    fd_callee folded = {tree->recording->folded_node, 0, 0};
    return fd_tree_unfolded(tree, tree->current, &folded);
}

bool
fd_notebook_unfolds(fd_thread *thread, const PyCodeObject *code,
                    const fd_code *known)
{
    return thread->session->kernel_threads != 0
        && owner_of(thread, code, known) == FD_PROGRAM;
}

fd_context *
fd_notebook_caller(fd_tree *tree)
{
    fd_context *context = tree->current;
    while ((context->flags & FD_CONTEXT_ABSORBS) != 0) {
        context = fd_tree_context(tree, context->parent);
    }
    return context;
}
