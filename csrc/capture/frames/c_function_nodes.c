#include "capture/frames/c_function_nodes.h"

#include "capture/frames/functions.h"
#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"

#include <stdio.h>
#include <string.h>

/* The cache is limited, because a program that keeps creating classes would
 * fill it. */
enum { MODULE_NAME = 256, MOST_FUNCTIONS = 1 << 16 };

static uint64_t
key_of(const fd_c_target *target)
{
    return fd_hash_next(fd_hash_word((uintptr_t)target->method),
                        (uintptr_t)target->type)
         | 1; /* 0 is not allowed */
}

/* Find a known function, or return NULL. Names are compared too, because
 * libraries allocate and free method definitions. */
static const fd_c_function *
find_function(const fd_session *session, const fd_c_target *target)
{
    uint32_t at = fd_map_get(&session->c_function_at, key_of(target));
    const fd_c_function *known =
        at != 0 ? &session->c_functions.list[at - 1] : NULL;
    return known != NULL && known->method == target->method
                && fd_objects_is(&fd_process.classes, known->receiver,
                                 target->type)
                && strcmp(known->name, target->method->ml_name) == 0
             ? known
             : NULL;
}

/* Add a new function, or, if there is no memory, none. A full cache is emptied
 * first. */
static void
add_function(fd_session *session, const fd_c_target *target,
             fd_c_function function)
{
    if (session->c_functions.count >= MOST_FUNCTIONS) {
        session->c_functions.count = 0;
        fd_map_clear(&session->c_function_at);
    }
    if (fd_vector_push(&session->c_functions, function) == FD_OK) {
        fd_map_put(&session->c_function_at, key_of(target),
                   session->c_functions.count);
    }
}

/* Return the class of a bound object, or NULL for modules and capsules (of
 * pybind11), which have no relevant class. */
static PyTypeObject *
class_of(PyObject *self)
{
    if (self == NULL || PyModule_Check(self) || PyCapsule_CheckExact(self)) {
        return NULL;
    }
    return PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
}

bool
fd_c_target_of(PyObject *callable, PyObject *first, fd_c_target *target)
{
    if (PyMethod_Check(callable)) {
        callable = PyMethod_GET_FUNCTION(callable);
    }
    if (PyCFunction_Check(callable)) {
        const PyCFunctionObject *function = (PyCFunctionObject *)callable;
        PyObject *self = function->m_self;
        *target = (fd_c_target){
            .method = function->m_ml,
            .type = class_of(self),
            .module = function->m_module != NULL ? function->m_module : self,
        };
        return true;
    }
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && first != NULL) {
        *target = (fd_c_target){
            .method = ((PyMethodDescrObject *)callable)->d_method,
            .type = Py_TYPE(first),
        };
        return true;
    }
    return false;
}

static bool
type_defines(const PyTypeObject *type, const PyMethodDef *method)
{
    const PyMethodDef *at = type->tp_methods;
    while (at != NULL && at->ml_name != NULL && at != method) {
        at++;
    }
    return at != NULL && at == method;
}

/* Return the class that defines a method of `type`: a class of the program
 * inherits the methods of built-in classes. */
static const PyTypeObject *
defining_class(const PyTypeObject *type, const PyMethodDef *method)
{
    PyObject *order = type->tp_mro;
    for (Py_ssize_t i = 0; order != NULL && i < PyTuple_GET_SIZE(order); i++) {
        PyObject *base = PyTuple_GET_ITEM(order, i);
        if (PyType_Check(base) && type_defines((PyTypeObject *)base, method)) {
            return (PyTypeObject *)base;
        }
    }
    return type;
}

/* Copy the module of a class: the part of its name before the last dot, or
 * "builtins" if there is no dot. */
static void
module_of_class(const PyTypeObject *type, char name[MODULE_NAME])
{
    const char *dot = strrchr(type->tp_name, '.');
    snprintf(name, MODULE_NAME, "%.*s",
             dot != NULL ? (int)(dot - type->tp_name) : 8,
             dot != NULL ? type->tp_name : "builtins");
}

/* Copy the module of a function that has no class. */
static void
module_of_function(PyObject *module, char name[MODULE_NAME])
{
    if (module != NULL && PyModule_Check(module)) {
        module = PyDict_GetItemString(PyModule_GetDict(module), "__name__");
    }
    PyObject *text = fd_utf8_text_of(module);
    snprintf(name, MODULE_NAME, "%s", fd_utf8(text, "builtins"));
    Py_XDECREF(text);
}

/* Find the package of a module by the file of its outermost module. Modules
 * without a file are built into the interpreter. */
static void
package_of(const fd_session *session, const char *module,
           fd_file_package *found)
{
    char outermost[MODULE_NAME];
    snprintf(outermost, sizeof outermost, "%.*s", (int)strcspn(module, "."),
             module);
    PyObject *imported =
        PyDict_GetItemString(PyImport_GetModuleDict(), outermost);
    PyObject *file =
        imported != NULL && PyModule_Check(imported)
            ? PyDict_GetItemString(PyModule_GetDict(imported), "__file__")
            : NULL;
    PyObject *text = fd_utf8_text_of(file);
    fd_paths_package(&session->paths, fd_utf8(text, "<frozen builtins>"),
                     found);
    Py_XDECREF(text);
    PyErr_Clear();
}

static uint32_t
add_node(const fd_session *session, const fd_c_target *target, bool *added)
{
    char module[MODULE_NAME];
    char qualified[MODULE_NAME];
    const char *name = target->method->ml_name;
    fd_file_package found;
    if (target->type != NULL) {
        const PyTypeObject *owner =
            defining_class(target->type, target->method);
        module_of_class(owner, module);
        snprintf(qualified, sizeof qualified, "%s.%s", fd_class_name(owner),
                 name);
    }
    else {
        module_of_function(target->module, module);
        snprintf(qualified, sizeof qualified, "%s", name);
    }
    package_of(session, module, &found);
    fd_node_spec spec = {
        .kind = FD_NODE_C,
        .from = found.from,
        .file = module,
        .class_name =
            target->type != NULL ? fd_class_name(target->type) : NULL,
        .name = name,
        .qualified = qualified,
        .package = found.package,
    };
    return fd_recording_node(session->recording, &spec, added);
}

/* Resolve a function that is not in the table. */
static fd_c_function
resolve_target(fd_thread *thread, const fd_c_target *target)
{
    fd_session *session = thread->session;
    fd_c_function function = {.method = target->method};
    bool added = false;
    fd_guard guard = fd_guard_enter(thread);
    if (target->type != NULL) {
        function.receiver =
            fd_objects_add_class(&fd_process.classes, target->type);
    }
    function.node = add_node(session, target, &added);
    fd_guard_leave(&guard);
    if (function.node != 0) {
        function.dropped =
            fd_function_is_dropped(thread, function.node, added);
    }
    return function;
}

bool
fd_c_function_node(fd_thread *thread, const fd_c_target *target,
                   uint32_t *node)
{
    fd_session *session = thread->session;
    const fd_c_function *known = find_function(session, target);
    if (known != NULL) {
        *node = known->node;
        return !known->dropped;
    }
    uint32_t generation = thread->synced;
    fd_c_function function = resolve_target(thread, target);
    if (fd_process_generation() != generation) {
        return false;
    }
    *node = function.node;
    if (function.node != 0
        && (target->type == NULL || function.receiver != 0)) {
        const fd_file *file = &session->recording->file;
        const fd_node *record = fd_file_record(file, function.node);
        function.name = fd_strings_text(file, record->name);
        add_function(session, target, function);
    }
    return !function.dropped;
}
