/* The differences between CPython versions: layout of an interpreter frame,
 * current frame of a thread, C recursion count. The only file that includes
 * CPython's internal headers. Include it first.
 *
 * In the evaluator hook the new frame is not linked yet: the thread's current
 * frame is the caller, and frame->previous must not be read. After evaluation
 * (3.12+) the frame is freed. */
#ifndef FD_PYFRAME_H
#define FD_PYFRAME_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#define FD_UNDO_BUILD_CORE
#endif
#include <Python.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030D0000
#include <opcode_ids.h>
#endif
#if PY_VERSION_HEX < 0x030D0000
#include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX < 0x030C0000
#include <opcode.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000 /* the frame moved out of pycore_frame.h */
#include <internal/pycore_interpframe.h>
#include <internal/pycore_pystate.h>
#endif
#ifdef FD_UNDO_BUILD_CORE
#undef Py_BUILD_CORE
#undef FD_UNDO_BUILD_CORE
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x03100000
#error "fastdispatch supports CPython 3.11 to 3.15"
#endif
#ifdef Py_GIL_DISABLED
#error "fastdispatch requires the GIL, which protects its tables of functions"
#endif

/* 3.13 enters the constructors of some classes without the evaluator. */
#define FD_HAS_HIDDEN_CONSTRUCTORS \
    (PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000)

typedef struct _PyInterpreterFrame fd_frame;

static inline PyCodeObject *
fd_frame_code(const fd_frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000 /* tagged references */
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030D0000 /* f_code renamed to f_executable */
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

/* Return the function object; its closure has the free variables. */
static inline PyFunctionObject *
fd_frame_function(const fd_frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyFunctionObject *)PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000 /* f_func renamed to f_funcobj */
    return (PyFunctionObject *)frame->f_funcobj;
#else
    return frame->f_func;
#endif
}

#if PY_VERSION_HEX >= 0x030E0000
#define FD_FRAME_OF_INTERPRETER FRAME_OWNED_BY_INTERPRETER
#elif PY_VERSION_HEX >= 0x030C0000
#define FD_FRAME_OF_INTERPRETER FRAME_OWNED_BY_CSTACK
#endif

/* Return a local variable, borrowed, or NULL while it is unset. */
static inline PyObject *
fd_frame_local(const fd_frame *frame, int at)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->localsplus[at]);
#else
    return frame->localsplus[at];
#endif
}

/* Return whether a frame belongs to a Python function. 3.12+ inserts other
 * frames between C and Python, and between a call of a class and its __init__;
 * the code of the latter is a static object whose file name equals its
 * name. */
static inline bool
fd_frame_is_python(const fd_frame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    const PyCodeObject *code = fd_frame_code(frame);
    return frame->owner != FD_FRAME_OF_INTERPRETER
        && PyCode_Check((const PyObject *)code)
        && code->co_filename != code->co_name;
#else
    (void)frame;
    return true;
#endif
}

/* Return whether the frame resumes a generator or coroutine (even for the
 * first time), as opposed to the call that creates it. */
static inline bool
fd_frame_is_resumed(const fd_frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR;
}

/* Return whether the start or resumption of a monitored frame has not been
 * reported yet. 3.13+ runs collections and signal handlers before the
 * event. */
static inline bool
fd_frame_is_starting(const fd_frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr->op.code == INSTRUMENTED_RESUME;
#else
    (void)frame;
    return false;
#endif
}

/* Return the offset in bytes of the instruction that the frame executes. */
static inline int
fd_frame_instruction(fd_frame *frame)
{
    return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}

/* Return the offset in bytes of the call that the frame executes. `callee` is
 * the frame that it called, or NULL if the evaluator has not begun with that.
 * In 3.11, a specialized PRECALL executes the CALL after it, and the call of a
 * frame on the same C stack frame is at the end of its inline caches. */
static inline int
fd_frame_call(fd_frame *frame, const fd_frame *callee)
{
    int at = fd_frame_instruction(frame);
#if PY_VERSION_HEX < 0x030C0000
    enum { CACHES = 4 /* of CALL, and of BINARY_SUBSCR */ };
    if (callee != NULL && !callee->is_entry) {
        return at - CACHES * (int)sizeof(_Py_CODEUNIT);
    }
    switch (_Py_OPCODE(*frame->prev_instr)) {
    case PRECALL:
    case PRECALL_ADAPTIVE:
    case PRECALL_BOUND_METHOD:
    case PRECALL_BUILTIN_CLASS:
    case PRECALL_BUILTIN_FAST_WITH_KEYWORDS:
    case PRECALL_METHOD_DESCRIPTOR_FAST_WITH_KEYWORDS:
    case PRECALL_NO_KW_BUILTIN_FAST:
    case PRECALL_NO_KW_BUILTIN_O:
    case PRECALL_NO_KW_ISINSTANCE:
    case PRECALL_NO_KW_LEN:
    case PRECALL_NO_KW_LIST_APPEND:
    case PRECALL_NO_KW_METHOD_DESCRIPTOR_FAST:
    case PRECALL_NO_KW_METHOD_DESCRIPTOR_NOARGS:
    case PRECALL_NO_KW_METHOD_DESCRIPTOR_O:
    case PRECALL_NO_KW_STR_1:
    case PRECALL_NO_KW_TUPLE_1:
    case PRECALL_NO_KW_TYPE_1:
    case PRECALL_PYFUNC:
        return at + 2 * (int)sizeof(_Py_CODEUNIT);
    default:
        break;
    }
#else
    (void)callee;
#endif
    return at;
}

/* Return whether the frame of a generator has run. */
static inline bool
fd_frame_has_started(fd_frame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return _PyInterpreterFrame_LASTI(frame)
        >= fd_frame_code(frame)->_co_firsttraceable;
#else
    (void)frame;
    return true;
#endif
}

/* Return the frame of a generator, a coroutine or an asynchronous generator
 * that has never run, also if it was closed, else NULL. 3.14+ clears the frame
 * of a closed one: NULL. */
static inline fd_frame *
fd_frame_unstarted(PyObject *generator)
{
#if PY_VERSION_HEX >= 0x030E0000
    PyGenObject *made = (PyGenObject *)generator;
    return made->gi_frame_state == FRAME_CREATED ? (fd_frame *)&made->gi_iframe
                                                 : NULL;
#elif PY_VERSION_HEX >= 0x030C0000
    PyGenObject *made = (PyGenObject *)generator;
    bool kept = made->gi_frame_state == FRAME_CREATED
             || made->gi_frame_state == FRAME_COMPLETED;
    fd_frame *frame = (fd_frame *)&made->gi_iframe;
    return kept && !fd_frame_has_started(frame) ? frame : NULL;
#else
    (void)generator;
    return NULL;
#endif
}

/* Return the nearest Python frame at or above `frame`. */
static inline fd_frame *
fd_frame_python(fd_frame *frame)
{
    while (frame != NULL && !fd_frame_is_python(frame)) {
        frame = frame->previous;
    }
    return frame;
}

static inline fd_frame *
fd_frame_current(const PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030D0000 /* without _PyCFrame */
    return thread->current_frame;
#else
    return thread->cframe->current_frame;
#endif
}

/* Frames of other threads, in copies of their memory that was read without the
 * GIL: nothing that they refer to may be read directly. */

/* Return the address of the latest Python thread of the process; the others
 * follow by `next`. */
static inline uint64_t
fd_frame_first_thread(void)
{
    return (uintptr_t)PyInterpreterState_ThreadHead(PyInterpreterState_Main());
}

/* Return the address that has the address of the current frame. */
static inline uint64_t
fd_frame_place_of_current(uint64_t thread, const PyThreadState *copy)
{
#if PY_VERSION_HEX >= 0x030D0000
    (void)copy;
    return thread + offsetof(PyThreadState, current_frame);
#else
    (void)thread;
    return (uintptr_t)copy->cframe + offsetof(_PyCFrame, current_frame);
#endif
}

/* Return the address of a local variable of a frame, and the value that is
 * stored there as the address of an object. */
static inline uint64_t
fd_frame_place_of_local(uint64_t frame, int at)
{
    return frame + offsetof(fd_frame, localsplus)
         + (uint64_t)at * sizeof((fd_frame *)NULL)->localsplus[0];
}

static inline uint64_t
fd_frame_untagged(uint64_t value)
{
    return PY_VERSION_HEX >= 0x030E0000 ? value & ~UINT64_C(3) : value;
}

/* Return whether a frame may belong to a Python function, by its own memory:
 * the condition on its code is separate. */
static inline bool
fd_frame_may_be_python(const fd_frame *copy)
{
#if PY_VERSION_HEX >= 0x030C0000
    return copy->owner != FD_FRAME_OF_INTERPRETER;
#else
    (void)copy;
    return true;
#endif
}

/* Return whether a copy of the code of such a frame is code of a function that
 * has started and executes one of its instructions. */
static inline bool
fd_frame_runs_code(fd_frame *copy, const PyCodeObject *code)
{
    int at = _PyInterpreterFrame_LASTI(copy);
    return Py_IS_TYPE((const PyObject *)code, &PyCode_Type)
        && code->co_filename != code->co_name && at >= code->_co_firsttraceable
        && at < Py_SIZE(code);
}

/* Py_AddPendingCall from a thread of the recorder. Before 3.13, CPython notices
 * such calls only once something else interrupts the main thread. */
static inline int
fd_frame_add_pending_call(int (*function)(void *))
{
    int status = Py_AddPendingCall(function, NULL);
#if PY_VERSION_HEX < 0x030D0000
    _Py_atomic_store_relaxed(&PyInterpreterState_Main()->ceval.eval_breaker,
                             1);
#endif
    return status;
}

/* Evaluate a frame without consuming c_recursion_remaining. Otherwise a hooked
 * call would consume two units, an unhooked one none, and 3.12 would raise
 * RecursionError after 750 calls. The hook itself checks the C stack
 * (fd_thread.stack.low). */
static inline PyObject *
fd_frame_evaluate(PyThreadState *thread, fd_frame *frame, int throwing)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    thread->c_recursion_remaining += 2;
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throwing);
    thread->c_recursion_remaining -= 2;
    return result;
#else
    return _PyEval_EvalFrameDefault(thread, frame, throwing);
#endif
}

/* The limits that 3.14+ compares the stack pointer of a thread with. */
typedef struct fd_stack_limits {
    uintptr_t top;
    uintptr_t soft;
    uintptr_t hard;
} fd_stack_limits;

/* Set the limits of a thread and return the previous ones. Earlier versions
 * count nested calls instead and have no limits. */
static inline fd_stack_limits
fd_stack_limits_swap(PyThreadState *state, fd_stack_limits limits)
{
#if PY_VERSION_HEX >= 0x030E0000
    _PyThreadStateImpl *thread = (_PyThreadStateImpl *)state;
    fd_stack_limits before = {thread->c_stack_top, thread->c_stack_soft_limit,
                              thread->c_stack_hard_limit};
    thread->c_stack_top = limits.top;
    thread->c_stack_soft_limit = limits.soft;
    thread->c_stack_hard_limit = limits.hard;
    return before;
#else
    (void)state;
    return limits;
#endif
}

/* Return the limits of a stack, as CPython sets them for its own threads. */
static inline fd_stack_limits
fd_stack_limits_of(const char *base, const char *top)
{
#if PY_VERSION_HEX >= 0x030E0000
    const uintptr_t hard = (uintptr_t)base + _PyOS_STACK_MARGIN_BYTES;
    return (fd_stack_limits){(uintptr_t)top, hard + _PyOS_STACK_MARGIN_BYTES,
                             hard};
#else
    return (fd_stack_limits){(uintptr_t)top, (uintptr_t)base, (uintptr_t)base};
#endif
}

/* Keep the garbage collector from starting by setting the flag that CPython
 * sets during a collection, so that gc.isenabled() does not change. Return the
 * argument for fd_collector_release. From 3.12 on, collections start between
 * bytecodes only. */
static inline int
fd_collector_hold(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return 0;
#else
    struct _gc_runtime_state *collector = &PyThreadState_Get()->interp->gc;
    int before = collector->collecting;
    collector->collecting = 1;
    return before;
#endif
}

static inline void
fd_collector_release(int before)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)before;
#else
    PyThreadState_Get()->interp->gc.collecting = before;
#endif
}

/* co_extra of a code object: one word per tool, at the index assigned by
 * CPython. Verified against CPython's own functions when the module loads. */
typedef struct fd_code_extras {
    Py_ssize_t size;
    void *words[1];
} fd_code_extras;

/* Return the word at `index`, without the cost of a call of
 * _PyCode_GetExtra. */
static inline void *
fd_frame_code_extra(const PyCodeObject *code, Py_ssize_t index)
{
    const fd_code_extras *extras = code->co_extra;
    return extras != NULL && extras->size > index ? extras->words[index]
                                                  : NULL;
}

/* Set the word of the recorder, without allocating words for higher indices.
 * _PyCode_SetExtra allocates words for all tools, and when a code object is
 * freed, CPython calls the destructor of every tool that has a word: for a
 * later tool, with code that it has never seen, and possibly after the end of
 * its interpreter. Return -1 without an exception if there is no memory. */
static inline int
fd_frame_set_code_extra(PyCodeObject *code, Py_ssize_t index, void *word)
{
    fd_code_extras *extras = code->co_extra;
    Py_ssize_t size = extras != NULL ? extras->size : 0;
    if (size <= index) {
        extras = PyMem_Realloc(extras, sizeof *extras
                                           + (size_t)index * sizeof(void *));
        if (extras == NULL) {
            return -1;
        }
        while (size <= index) {
            extras->words[size++] = NULL;
        }
        extras->size = size;
        code->co_extra = extras;
    }
    extras->words[index] = word;
    return 0;
}

/* Return the value of a local that may be boxed in a cell for closures; may be
 * NULL. */
static inline PyObject *
fd_unboxed(PyObject *value)
{
    return value != NULL && PyCell_Check(value) ? PyCell_GET(value) : value;
}

/* Fetch and clear the pending exception, normalised, as a new reference.
 * Return NULL if no exception is pending. */
static inline PyObject *
fd_take_exception(void)
{
#if PY_VERSION_HEX >= 0x030C0000 /* 3.12+: an exception is one object */
    return PyErr_GetRaisedException();
#else
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Replace the pending exception by a fetched one; NULL clears it. */
static inline void
fd_put_exception(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Clear();
    if (exception != NULL) {
        PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception,
                      PyException_GetTraceback(exception));
    }
#endif
}

#if PY_VERSION_HEX >= 0x030C0000
#define fd_code_request_index PyUnstable_Eval_RequestCodeExtraIndex
#define fd_code_get_extra PyUnstable_Code_GetExtra
#else
#define fd_code_request_index _PyEval_RequestCodeExtraIndex
#define fd_code_get_extra _PyCode_GetExtra
#endif

#endif
