#include "capture/memory/memory_reports.h"

#include "base/alloc.h"
#include "capture/state/native_thread.h"
#include "capture/torch/import_slots.h"
#include "capture/torch/libtorch.h"
#include "recording/measures/memory_use.h"

#include <errno.h>
#include <string.h>

#define REPORTER "_ZN3c1025ProfiledCPUMemoryReporter"
#define NEW REPORTER "3NewEPvm"
#define DELETE REPORTER "6DeleteEPv"
#define REFUSE REPORTER "11OutOfMemoryEm"
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define REPORT_REFUSED "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

enum { PROBE_BYTES = 4099, CPU = 0, CUDA = 1 /* c10::DeviceType */ };

typedef void cpu_new(void *reporter, void *address, size_t bytes);
typedef void cpu_delete(void *reporter, void *address);
typedef void cpu_refuse(void *reporter, size_t bytes);
typedef void report(void *address, int64_t bytes, size_t allocated,
                    size_t reserved, uint16_t device);
typedef void report_refused(int64_t bytes, size_t allocated, size_t reserved,
                            uint16_t device);

/* PyTorch's functions, in the order of `functions`. The first ones are those
 * that each PyTorch has. */
enum {
    NEW_FN,
    DELETE_FN,
    REPORT_FN,
    REQUIRED,
    REFUSE_FN = REQUIRED,
    REPORT_REFUSED_FN,
    FUNCTIONS
};

enum { SLOTS = 8 };

/* State of the process: the functions of PyTorch get no user pointer. */
typedef struct memory_hooks {
    void *functions[FUNCTIONS]; /* PyTorch's own functions; kept after the end
                                   for threads that are still inside */
    fd_import_slot slots[SLOTS];
    uintptr_t probed; /* address of the block of the probe */
    bool returned;    /* whether the block was freed */
    bool probing;
} memory_hooks;

static memory_hooks hooks;

struct fd_memory_state {
    fd_memory_use use;
    pthread_mutex_t lock; /* protects `aside` */
    _Atomic bool placed;  /* whether `aside` has a root */
    /* records of events that no thread can record: between two windows, or
     * inside a hook. Only the fields for measures are set; a root of NULL:
     * none */
    fd_tree aside;
};

/* Attribute the events recorded aside to the thread with this tree. */
static void
set_aside(struct fd_memory_state *state, const fd_tree *tree)
{
    pthread_mutex_lock(&state->lock);
    if (state->aside.root == NULL) {
        state->aside.base = tree->base;
        state->aside.recording = tree->recording;
        state->aside.record = tree->record;
        state->aside.root = tree->root;
        fd_tree_make_pools(&state->aside);
        state->placed = true;
    }
    pthread_mutex_unlock(&state->lock);
}

static void
store_event(struct fd_memory_state *state, fd_tree *tree, const fd_context *at,
            const fd_memory_event *of)
{
    uint32_t context = fd_tree_id(tree, at);
    switch (of->change) {
    case FD_MEMORY_ALLOCATED:
        fd_memory_allocated(&state->use, tree, context, of);
        break;
    case FD_MEMORY_FREED:
        fd_memory_freed(&state->use, tree, context,
                        at->flags & FD_CONTEXT_PHASE, of);
        break;
    case FD_MEMORY_REFUSED:
        fd_memory_refused(&state->use, tree, context, of);
        break;
    }
}

/* Store an event aside. Requires the section of the thread. */
static void
store_aside(const fd_memory_event *of)
{
    fd_session *session = fd_process_active();
    struct fd_memory_state *state = session != NULL ? session->memory : NULL;
    if (state == NULL) {
        return;
    }
    pthread_mutex_lock(&state->lock);
    if (state->aside.root != NULL) {
        store_event(state, &state->aside, state->aside.root, of);
    }
    else if (of->change == FD_MEMORY_ALLOCATED) {
        fd_memory_lose(&state->use, of->bytes);
    }
    pthread_mutex_unlock(&state->lock);
}

/* Return the thread, inside its section. A thread does not get a tree only
 * because it frees a block. */
static fd_thread *
entered_thread(const fd_thread *self, const fd_memory_event *of)
{
    bool known = self != NULL && self->tree != NULL;
    return of->change != FD_MEMORY_FREED || known ? fd_native_enter() : NULL;
}

/* Store an event of the program, without its step. */
static void
note_event(fd_memory_event of)
{
    int error = errno;
    fd_thread *self = fd_thread_self;
    if (self != NULL && self->section.inside) {
        store_aside(&of); /* called inside a hook */
        errno = error;
        return;
    }
    fd_thread *thread = entered_thread(self, &of);
    if (thread != NULL) {
        struct fd_memory_state *state = thread->session->memory;
        if (state != NULL) {
            if (__builtin_expect(!state->placed, false)) {
                set_aside(state, thread->tree);
            }
            of.step = thread->session->steps.number + 1;
            store_event(state, thread->tree, thread->tree->current, &of);
        }
        fd_native_leave(thread);
    }
    else if ((thread = fd_thread_get()) != NULL) {
        fd_section_enter(&thread->section);
        store_aside(&of);
        fd_section_leave(&thread->section);
    }
    errno = error;
}

static void
on_new(void *reporter, void *address, size_t bytes)
{
    if (__builtin_expect(hooks.probing, false) && bytes == PROBE_BYTES) {
        hooks.probed = (uintptr_t)address;
    }
    if (address != NULL && bytes != 0) {
        note_event((fd_memory_event){.change = FD_MEMORY_ALLOCATED,
                                     .address = (uintptr_t)address,
                                     .bytes = bytes});
    }
    ((cpu_new *)hooks.functions[NEW_FN])(reporter, address, bytes);
}

static void
on_delete(void *reporter, void *address)
{
    if (__builtin_expect(hooks.probing, false)
        && hooks.probed == (uintptr_t)address) {
        hooks.returned = true;
    }
    if (address != NULL) {
        note_event((fd_memory_event){.change = FD_MEMORY_FREED,
                                     .address = (uintptr_t)address});
    }
    ((cpu_delete *)hooks.functions[DELETE_FN])(reporter, address);
}

static void
on_refuse(void *reporter, size_t bytes)
{
    note_event((fd_memory_event){.change = FD_MEMORY_REFUSED, .bytes = bytes});
    ((cpu_refuse *)hooks.functions[REFUSE_FN])(reporter, bytes);
}

/* Note an event of a device, if it is followed. Type and index of the device
 * are bytes of `device`. Only allocators of GPUs have totals. */
static void
note_on_device(uint16_t device, fd_memory_event of)
{
    uint32_t index = device >> 8;
    uint32_t type = device & 0xff;
    if (type == CPU
        || (type == CUDA && index < FD_MEMORY_DEVICES - FD_MEMORY_CUDA)) {
        of.device = type == CPU ? FD_MEMORY_CPU : FD_MEMORY_CUDA + index;
        of.totals = type == CUDA;
        note_event(of);
    }
}

/* Called for memory of CUDA, and for memory shared by processes. */
static void
on_report(void *address, int64_t bytes, size_t allocated, size_t reserved,
          uint16_t device)
{
    if (address != NULL && bytes != 0) {
        bool freed = bytes < 0;
        note_on_device(device,
                       (fd_memory_event){.change = freed ? FD_MEMORY_FREED
                                                         : FD_MEMORY_ALLOCATED,
                                         .address = (uintptr_t)address,
                                         .bytes = freed ? -(uint64_t)bytes
                                                        : (uint64_t)bytes,
                                         .allocated = allocated,
                                         .reserved = reserved});
    }
    ((report *)hooks.functions[REPORT_FN])(address, bytes, allocated, reserved,
                                           device);
}

static void
on_report_refused(int64_t bytes, size_t allocated, size_t reserved,
                  uint16_t device)
{
    note_on_device(device, (fd_memory_event){.change = FD_MEMORY_REFUSED,
                                             .bytes = (uint64_t)bytes,
                                             .allocated = allocated,
                                             .reserved = reserved});
    ((report_refused *)hooks.functions[REPORT_REFUSED_FN])(bytes, allocated,
                                                           reserved, device);
}

void
fd_memory_reports_ignore(void)
{
    for (size_t i = 0; i < SLOTS; i++) {
        fd_import_slot_restore(&hooks.slots[i]);
    }
}

static fd_status
find_symbols(fd_error *error)
{
    static const char *const names[FUNCTIONS] = {NEW, DELETE, REPORT, REFUSE,
                                                 REPORT_REFUSED};
    for (int i = 0; i < FUNCTIONS; i++) {
        hooks.functions[i] = fd_libtorch_function(names[i]);
        if (hooks.functions[i] == NULL && i < REQUIRED) {
            return fd_fail(error, FD_EINVAL,
                           "memory is not measured: PyTorch has no %s",
                           names[i]);
        }
    }
    return FD_OK;
}

/* Set the slots. Only the first two are in every PyTorch. PyTorch has one
 * library of the GPU, whose device type is CUDA on ROCm, too. */
static bool
listen_slots(void)
{
    static const struct {
        const char *library;
        const char *symbol;
        void *listener;
        int function;
    } calls[SLOTS] = {
        {"libc10.so", DELETE, (void *)on_delete, DELETE_FN},
        {"libc10.so", NEW, (void *)on_new, NEW_FN},
        {"libc10.so", REFUSE, (void *)on_refuse, REFUSE_FN},
        {"libtorch_cpu.so", REPORT, (void *)on_report, REPORT_FN},
        {"libc10_cuda.so", REPORT, (void *)on_report, REPORT_FN},
        {"libc10_cuda.so", REPORT_REFUSED, (void *)on_report_refused,
         REPORT_REFUSED_FN},
        {"libc10_hip.so", REPORT, (void *)on_report, REPORT_FN},
        {"libc10_hip.so", REPORT_REFUSED, (void *)on_report_refused,
         REPORT_REFUSED_FN},
    };
    for (int i = 0; i < SLOTS; i++) {
        bool set = hooks.functions[calls[i].function] != NULL
                && fd_import_slot_set(&hooks.slots[i], calls[i].library,
                                      calls[i].symbol, calls[i].listener);
        if (!set && i < 2) {
            return false;
        }
    }
    return true;
}

/* Run the probe twice. The first call binds functions that are bound lazily;
 * the second one is observed. */
static fd_status
test_probe(fd_session *session, fd_thread *thread, PyObject *probe,
           fd_error *error)
{
    PyObject *first = fd_session_call(session, thread, probe, NULL);
    Py_XDECREF(first);
    hooks.probed = 0;
    hooks.returned = false;
    bool listening = first != NULL && listen_slots();
    hooks.probing = listening;
    PyObject *second =
        listening ? fd_session_call(session, thread, probe, NULL) : NULL;
    hooks.probing = false;
    Py_XDECREF(second);
    if (second != NULL && hooks.probed != 0 && hooks.returned) {
        return FD_OK;
    }
    fd_memory_reports_ignore();
    return fd_fail(
        error, FD_EINVAL, "memory is not measured: %s",
        first == NULL || (listening && second == NULL) ? "the self-test raised"
        : !listening ? "libc10.so calls no function that reports blocks"
                     : "PyTorch reported no block of the self-test");
}

static struct fd_memory_state *
make_state(fd_session *session)
{
    struct fd_memory_state *state = fd_calloc(1, sizeof *state);
    if (state != NULL
        && fd_memory_init(&state->use, session->recording) != FD_OK) {
        fd_free(state);
        return NULL;
    }
    if (state != NULL) {
        pthread_mutex_init(&state->lock, NULL);
    }
    return state;
}

fd_status
fd_memory_reports_begin(fd_session *session, fd_thread *thread,
                        PyObject *probe, fd_error *error)
{
    if (session->memory != NULL) {
        return FD_OK;
    }
    fd_status status = find_symbols(error);
    if (status == FD_OK) {
        status = test_probe(session, thread, probe, error);
    }
    if (status != FD_OK) {
        return status;
    }
    struct fd_memory_state *state = make_state(session);
    if (state == NULL) {
        fd_memory_reports_ignore();
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    if (thread->tree != NULL && thread->serial == session->serial) {
        set_aside(state, thread->tree);
    }
    session->memory = state;
    return FD_OK;
}

void
fd_memory_reports_step(fd_session *session, fd_tree *tree)
{
    struct fd_memory_state *state = session->memory;
    if (state != NULL) {
        set_aside(state, tree);
        fd_memory_step(&state->use, tree);
        pthread_mutex_lock(&state->lock);
        fd_memory_settle(&state->use, &state->aside);
        pthread_mutex_unlock(&state->lock);
    }
}

uint64_t
fd_memory_reports_live(const fd_session *session)
{
    const struct fd_memory_state *state = session->memory;
    return state != NULL ? fd_memory_live(&state->use) + 1 : 0;
}

void
fd_memory_reports_discard(fd_session *session)
{
    struct fd_memory_state *state = session->memory;
    if (state != NULL) {
        fd_memory_discard(&state->use);
    }
}

void
fd_memory_reports_end(fd_session *session)
{
    struct fd_memory_state *state = session->memory;
    if (state == NULL) {
        return;
    }
    fd_memory_reports_ignore();
    const fd_thread *thread = fd_thread_self;
    session->stuck |=
        !fd_sections_wait(thread != NULL ? &thread->section : NULL);
    if (!session->stuck && state->aside.root != NULL) {
        fd_memory_settle(&state->use, &state->aside);
    }
}

void
fd_memory_reports_free(fd_session *session)
{
    struct fd_memory_state *state = session->memory;
    if (state != NULL) {
        fd_memory_clear(&state->use);
        fd_map_clear(&state->aside.measures.index);
        pthread_mutex_destroy(&state->lock);
        fd_free(state);
    }
}

void
fd_memory_reports_lock(fd_session *session, bool lock)
{
    struct fd_memory_state *state = session->memory;
    if (state != NULL && lock) {
        pthread_mutex_lock(&state->lock);
    }
    else if (state != NULL) {
        pthread_mutex_unlock(&state->lock);
    }
}
