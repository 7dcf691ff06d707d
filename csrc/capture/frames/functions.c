#include "capture/frames/functions.h"

#include "base/buffer.h"
#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"

/* Limit of the cache from (code object, class) to node. A full cache is
 * emptied, because a program that keeps creating classes would fill it. */
enum { MOST_KEYS = 1 << 18 };

/* Return whether the filter keeps a function. If the filter raises, the
 * function is kept. */
static bool
passes_filter(fd_thread *thread, uint32_t node)
{
    fd_session *session = thread->session;
    const fd_file *file = &session->recording->file;
    fd_buffer text = {.bytes = NULL};
    fd_guard guard = fd_guard_enter_open(thread);
    fd_node_key(file, fd_file_record(file, node), &text);
    PyObject *key =
        PyUnicode_DecodeUTF8(text.bytes, (Py_ssize_t)text.size, "replace");
    fd_buffer_clear(&text);
    PyObject *result =
        key == NULL ? NULL
                    : fd_session_call(session, thread, session->keep, key);
    Py_XDECREF(key);
    int kept = result != NULL ? PyObject_IsTrue(result) : 1;
    Py_XDECREF(result);
    PyErr_Clear();
    fd_guard_leave(&guard);
    return kept != 0;
}

static uint32_t
add_node(fd_thread *thread, const PyCodeObject *code, uint32_t flags,
         const PyTypeObject *type, bool *added)
{
    fd_session *session = thread->session;
    PyObject *texts[] = {fd_utf8_text_of(code->co_filename),
                         fd_utf8_text_of(code->co_name),
                         fd_utf8_text_of(code->co_qualname)};
    const char *file = fd_utf8(texts[0], "");
    const char *qualified = fd_utf8(texts[2], "");
    fd_file_package found;
    fd_paths_package(&session->paths, file, &found);
    if (!session->fold) {
        flags &= ~(uint32_t)FD_NODE_FOLD;
    }
    fd_node_spec spec = {
        .kind = FD_NODE_PYTHON,
        .from = found.from,
        .strip = found.strip,
        .flags = flags,
        .line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
        .file = file,
        .class_name = type != NULL ? fd_class_name(type) : NULL,
        .name = fd_utf8(texts[1], ""),
        .qualified = qualified,
        .package = found.package,
    };
    uint32_t node = fd_recording_node(session->recording, &spec, added);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(texts[i]);
    }
    return node;
}

static uint32_t
class_of(const fd_thread *thread, const fd_code *known, const fd_frame *frame,
         PyTypeObject **type)
{
    *type = fd_receiver_type(known, frame);
    if (*type == NULL) {
        return 0;
    }
    uint32_t id = fd_objects_add_class(&fd_process.classes, *type);
    if (id == 0) {
        fd_file_count(&thread->session->recording->file,
                      FD_COUNT_CLASSES_FULL);
    }
    return id;
}

static uint32_t
node_of(fd_thread *thread, const PyCodeObject *code, const fd_code *known,
        uint32_t class_id, const PyTypeObject *type, bool *added)
{
    fd_session *session = thread->session;
    uint64_t key = (uint64_t)known->id << 32 | class_id;
    uint32_t node = fd_map_get(&session->nodes, key);
    if (node == 0) {
        bool counts = class_id != 0 && fd_receiver_counts(known, code, type);
        node =
            add_node(thread, code, known->node, counts ? type : NULL, added);
        if (session->nodes.count >= MOST_KEYS) {
            fd_map_clear(&session->nodes);
        }
        if (node != 0) {
            fd_map_put(&session->nodes, key, node);
        }
    }
    return node;
}

/* Return the id of the module instance, if this is the forward of one, else
 * 0. */
static uint32_t
module_of(fd_thread *thread, const fd_code *known, const fd_frame *frame,
          uint32_t class_id)
{
    fd_instances *instances = &thread->session->instances;
    if ((known->special & FD_CODE_FORWARD) == 0
        || !fd_receiver_is_instance(known)
        || fd_objects_at(&fd_process.classes, class_id)->value == 0) {
        return 0;
    }
    PyObject *self = fd_receiver_value(known, frame);
    return fd_instances_module(instances, thread->tree, self);
}

const fd_code *
fd_code_of(fd_thread *thread, PyCodeObject *code)
{
    const fd_code *known = fd_code_known(code);
    if (known == NULL) {
        fd_guard guard = fd_guard_enter(thread);
        known = fd_code_add(code);
        fd_guard_leave(&guard);
    }
    return known;
}

bool
fd_function_unfolds(fd_thread *thread, const PyCodeObject *code,
                    const fd_code *known)
{
    if ((known->special & FD_CODE_BODY) == 0) {
        return false;
    }
    fd_file_package found;
    fd_guard guard = fd_guard_enter(thread);
    PyObject *file = fd_utf8_text_of(code->co_filename);
    fd_paths_package(&thread->session->paths, fd_utf8(file, ""), &found);
    Py_XDECREF(file);
    fd_guard_leave(&guard);
    return found.from == FD_FROM_USER;
}

bool
fd_function_is_dropped(fd_thread *thread, uint32_t node, bool added)
{
    fd_session *session = thread->session;
    uint32_t generation = thread->synced;
    fd_node *record = fd_file_record(&session->recording->file, node);
    if (added && session->keep != NULL && !passes_filter(thread, node)
        && fd_process_generation() == generation) {
        record->flags |= FD_NODE_DROPPED;
    }
    return (record->flags & FD_NODE_DROPPED) != 0;
}

fd_function
fd_function_of(fd_thread *thread, PyCodeObject *code, const fd_code *known,
               const fd_frame *frame)
{
    fd_function function = {.dropped = false};
    PyTypeObject *type;
    bool added = false;
    fd_guard guard = fd_guard_enter(thread);
    function.receiver = class_of(thread, known, frame, &type);
    fd_code_saw(code, thread->serial, function.receiver);
    uint32_t node =
        node_of(thread, code, known, function.receiver, type, &added);
    function.callee.module =
        module_of(thread, known, frame, function.receiver);
    fd_guard_leave(&guard);
    function.callee.node = node;
    if (node != 0) {
        function.dropped = fd_function_is_dropped(thread, node, added);
    }
    return function;
}
