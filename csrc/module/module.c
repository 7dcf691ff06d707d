/* fastdispatch._core: creation of the module. */
#include "capture/process/process.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "capture/frames/code_nodes.h"
#include "capture/hooks/step_calls.h"
#include "capture/operands/process_groups.h"
#include "capture/process/thread.h"
#include "capture/python/interpreters.h"
#include "capture/python/utf8_text.h"
#include "capture/session/session.h"
#include "capture/torch/current_stream.h"
#include "gpu/gpu_runtime.h"
#include "gpu/kernel_collector.h"
#include "module/errors.h"
#include "module/events/timeline_binding.h"
#include "module/pipeline/engine_binding.h"
#include "module/pipeline/optimize_binding.h"
#include "module/pipeline/replay_binding.h"
#include "module/recording/folder_type.h"
#include "module/state.h"
#include "module/trace/trace_type.h"

#include <signal.h>
#include <string.h>

static bool
prepare_process(void)
{
    static bool prepared;
    if (!prepared) {
        fd_clock_init();
        prepared =
            (fd_objects_init(&fd_process.classes) || PyErr_NoMemory() != NULL)
            && fd_code_init() == 0 && fd_thread_init() == 0
            && fd_session_init() == 0;
    }
    return prepared;
}

/* Block all signals except those of faults in this process. */
static void
block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, before);
}

/* Handle a fork in the child: remove the hooks and call function(). Signal
 * handlers run afterwards, because an exception that they raise in a function
 * called by fork would be lost. */
static PyObject *
after_fork(PyObject *module, PyObject *function)
{
    (void)module;
    sigset_t before;
    block_signals(&before);
    fd_session_forked();
    Py_XDECREF(PyObject_CallNoArgs(function));
    PyErr_Clear();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    Py_RETURN_NONE;
}

static PyObject *
set_own_folder(PyObject *module, PyObject *path)
{
    (void)module;
    PyObject *decoded = NULL;
    if (!PyUnicode_FSDecoder(path, &decoded)) {
        return NULL;
    }
    PyObject *text = fd_utf8_text(decoded);
    Py_DECREF(decoded);
    if (text == NULL) {
        return NULL;
    }
    const char *folder = PyUnicode_AsUTF8(text);
    char *copy = fd_malloc(strlen(folder) + 1);
    if (copy != NULL) {
        strcpy(copy, folder);
        fd_free(fd_process.own_folder);
        fd_process.own_folder = copy;
    }
    Py_DECREF(text);
    if (copy == NULL) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyObject *
gpu_runtime(PyObject *module, PyObject *unused)
{
    (void)unused;
    fd_gpu_runtime runtime;
    fd_error error = {""};
    fd_status status = fd_gpu_runtime_find(&runtime, &error);
    return status == FD_OK ? PyUnicode_FromString(runtime.library)
                           : fd_raise(module, status, &error);
}

static PyObject *
kernel_library(PyObject *module, PyObject *unused)
{
    (void)unused;
    fd_cupti cupti;
    fd_error error = {""};
    fd_status status = fd_kernels_probe(&cupti, &error);
    return status == FD_OK ? PyUnicode_FromString(cupti.library)
                           : fd_raise(module, status, &error);
}

static PyObject *
finds_gpu_stream(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    fd_current_stream stream = {.current = NULL};
    bool found = fd_current_stream_find(&stream);
    fd_current_stream_clear(&stream);
    return PyBool_FromLong(found);
}

static PyObject *
clock_source(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(fd_clock_is_tsc ? "counter" : "clock_gettime");
}

static PyObject *
process_group_address(PyObject *module, PyObject *group)
{
    (void)module;
    return PyLong_FromUnsignedLongLong(fd_process_group_of(group));
}

static PyObject *
optimizer_reported(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (fd_interpreter_is_main()) {
        fd_optimizer_reported(PyThreadState_Get());
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_own_folder", set_own_folder, METH_O,
     PyDoc_STR("set_own_folder($module, path, /)\n--\n\n"
               "Functions of files below this folder are never nodes.")},
    {"after_fork", after_fork, METH_O,
     PyDoc_STR("after_fork($module, function, /)\n--\n\n"
               "Remove the hooks from a forked child; call function().")},
    {"gpu_runtime", gpu_runtime, METH_NOARGS,
     PyDoc_STR("gpu_runtime($module, /)\n--\n\n"
               "The library of CUDA or HIP that this process has loaded.")},
    {"kernel_library", kernel_library, METH_NOARGS,
     PyDoc_STR("kernel_library($module, /)\n--\n\n"
               "The library of CUPTI that kernels can be read from now.")},
    {"finds_gpu_stream", finds_gpu_stream, METH_NOARGS,
     PyDoc_STR(
         "finds_gpu_stream($module, /)\n--\n\n"
         "Whether PyTorch has a known function for its current stream.")},
    {"clock_source", clock_source, METH_NOARGS,
     PyDoc_STR("clock_source($module, /)\n--\n\n"
               "The clock of all times: counter (of the processor) or "
               "clock_gettime.")},
    {"optimizer_reported", optimizer_reported, METH_NOARGS,
     PyDoc_STR("optimizer_reported($module, /)\n--\n\n"
               "Optimizer.step is about to return in this thread.")},
    {"process_group_address", process_group_address, METH_O,
     PyDoc_STR("process_group_address($module, group, /)\n--\n\n"
               "The address that operators of c10d receive.")},
    {"writer", fd_writer_py, METH_O,
     PyDoc_STR("writer($module, path, /)\n--\n\n"
               "Whether the writer of a recording is alive.")},
    {"save", fd_save_py, METH_VARARGS,
     PyDoc_STR("save($module, path, content, /)\n--\n\n"
               "Write parts of bytes to a file atomically.")},
    FD_KEYWORD_METHOD(
        "pipeline_rule", fd_pipeline_rule,
        "pipeline_rule($module, path_suffix, qualname, kind, *,\n"
        "              engine='user', role=0, local=False, also=False,\n"
        "              own_order=False, mb=None, stage=None, chunk=None,\n"
        "              peer=None, buffer=None, bytes=None, when=None,\n"
        "              plan=None, eval=None, owner=None)\n--\n\n"
        "Calls of a function are jobs of a pipeline."),
    FD_KEYWORD_METHOD("optimize", fd_optimize_py,
                      "optimize($module, ids, costs, edges, machines,\n"
                      "         bandwidths, *, ratio=0, straight=False,\n"
                      "         fewer=False, true_cut=False, memory=0,\n"
                      "         room=0, optimizer=0, watch=None)\n--\n\n"
                      "Find the fastest pipeline."),
    {"tables", fd_tables_py, METH_NOARGS,
     PyDoc_STR("tables($module, /)\n--\n\n"
               "The columns of each table of a trace.")},
    {"load_tables", fd_load_tables_py, METH_O,
     PyDoc_STR("load_tables($module, tables, /)\n--\n\n"
               "A dump for Trace, from checked tables.")},
    FD_KEYWORD_METHOD(
        "replay", fd_replay_py,
        "replay($module, schedule, rows, first, times, *, globals,\n"
        "       micro_batches, waiting, posted=None, blocking=False,\n"
        "       jobs=False)\n--\n\n"
        "Simulate a plan with given times."),
    FD_KEYWORD_METHOD("timeline_survey", fd_timeline_survey_py,
                      "timeline_survey($module, path, *, first=False,\n"
                      "                take=None)\n--\n\n"
                      "Facts about a timeline."),
    FD_KEYWORD_METHOD(
        "timeline_merge", fd_timeline_merge_py,
        "timeline_merge($module, inputs, output, *, sorted=False,\n"
        "               named_durations=False, progress=None,\n"
        "               base_ns=None, total=0)\n--\n\n"
        "Merge timelines of many ranks."),
    {"timeline_rows", fd_timeline_rows_py, METH_NOARGS,
     PyDoc_STR("timeline_rows($module, /)\n--\n\n"
               "The layout of events and transfers.")},
    FD_KEYWORD_METHOD("timeline_events", fd_timeline_events_py,
                      "timeline_events($module, path, take, kind_of, *,\n"
                      "                progress=None,\n"
                      "                transfers=None)\n--\n\n"
                      "Events of a trace."),
    {NULL, NULL, 0, NULL},
};

static int
add_types(PyObject *module)
{
    fd_module_state *state = fd_module_state_of(module);
    const struct {
        PyType_Spec *spec;
        PyTypeObject **keep;
    } types[] = {{&fd_session_spec, NULL},
                 {&fd_trace_spec, &state->trace},
                 {&fd_dispatch_spec, NULL},
                 {&fd_label_spec, NULL},
                 {&fd_job_spec, NULL},
                 {&fd_clock_server_spec, NULL},
                 {&fd_clock_client_spec, NULL},
                 {&fd_folder_spec, &state->folder},
                 {&fd_et_spec, NULL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(
            module, types[i].spec, NULL);
        int status = type == NULL ? -1 : PyModule_AddType(module, type);
        if (types[i].keep != NULL) {
            Py_XSETREF(*types[i].keep, (PyTypeObject *)Py_XNewRef(type));
        }
        Py_XDECREF(type);
        if (status < 0) {
            return -1;
        }
    }
    return 0;
}

static int
module_execute(PyObject *module)
{
    return fd_interpreter_check() < 0 || !prepare_process()
                || fd_errors_init(module) < 0
             ? -1
             : add_types(module);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    fd_module_state *state = fd_module_state_of(module);
    Py_VISIT(state->error);
    Py_VISIT(state->trace);
    Py_VISIT(state->folder);
    return 0;
}

static int
module_clear(PyObject *module)
{
    fd_module_state *state = fd_module_state_of(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->trace);
    Py_CLEAR(state->folder);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_execute},
    FD_ONE_INTERPRETER{0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fastdispatch._core",
    .m_doc = PyDoc_STR("The C core of fastdispatch."),
    .m_size = sizeof(fd_module_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
