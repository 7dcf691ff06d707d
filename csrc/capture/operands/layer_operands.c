#include "capture/operands/layer_operands.h"

#include "capture/operands/arguments.h"
#include "capture/operands/operands.h"
#include "capture/process/guard.h"
#include "recording/operator_log.h"

#include <string.h>

/* Return the module of this forward, borrowed, or NULL. */
static PyObject *
module_of(fd_thread *thread, const fd_code *known, const fd_frame *frame)
{
    PyTypeObject *type =
        fd_receiver_is_instance(known) ? fd_receiver_type(known, frame) : NULL;
    if (type == NULL || (known->special & FD_CODE_GENERATOR) != 0) {
        return NULL;
    }
    fd_guard guard = fd_guard_enter(thread);
    uint32_t id = fd_classes_add(&fd_process.classes, type);
    fd_guard_leave(&guard);
    return fd_classes_at(&fd_process.classes, id)->is_module
             ? fd_receiver_value(known, frame)
             : NULL;
}

static bool
is_enclosed(const fd_op_log *log, uint32_t window)
{
    for (uint32_t i = log->open.count; log->window == window && i > 0; i--) {
        const fd_op_call *call = log->open.list[i - 1].call;
        if (call != NULL && (call->flags & FD_OP_CALL_MODULE) != 0) {
            return true;
        }
    }
    return false;
}

/* Call on_model once per module that is called outside of other modules. */
static void
report_model(fd_thread *thread, PyObject *module)
{
    fd_session *session = thread->session;
    uintptr_t address = (uintptr_t)module;
    if (session->on_model == NULL || fd_map_get(&session->models, address) != 0
        || is_enclosed(&thread->tree->ops, thread->synced)
        || fd_map_put(&session->models, address, 1) != FD_OK) {
        return;
    }
    Py_XDECREF(fd_session_call(session, thread, session->on_model, module));
}

static void
count_cut(const fd_thread *thread)
{
    fd_file_count(&thread->tree->recording->file, FD_COUNT_OPERANDS_CUT);
}

bool
fd_layer_call_start(fd_thread *thread, const fd_code *known,
                    const fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    PyObject *module = module_of(thread, known, frame);
    if (module == NULL || thread->session->tensor == NULL) {
        return false;
    }
    report_model(thread, module);
    if (fd_process_generation() != thread->synced) {
        return false;
    }
    const char *name = fd_class_name(Py_TYPE(module));
    tree->ops.words.count = 0;
    fd_guard guard = fd_guard_enter(thread);
    if (!fd_operands_text(&tree->ops, name, strlen(name))
        || !fd_arguments_append(thread, frame)) {
        count_cut(thread);
    }
    fd_guard_leave(&guard);
    fd_op_call call = {
        .start = fd_clock_ticks(),
        .id = (uintptr_t)module,
        .sequence = -1,
        .step = (uint32_t)thread->session->step,
        .flags = FD_OP_CALL_MODULE,
    };
    fd_op_calls_begin(tree, &call, frame, thread->synced);
    return true;
}

void
fd_layer_call_end(fd_thread *thread, const fd_frame *frame, PyObject *result)
{
    fd_tree *tree = thread->tree;
    uint64_t now = fd_clock_ticks();
    tree->ops.words.count = 0;
    if (tree->ops.window != thread->synced) {
        return;
    }
    fd_guard guard = fd_guard_enter(thread);
    if (result != NULL && !fd_arguments_value(thread, result)) {
        count_cut(thread);
    }
    fd_guard_leave(&guard);
    fd_op_calls_end(tree, frame, now);
}
