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
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

enum { PROBE_BYTES = 4099, CPU = 0, CUDA = 1 /* c10::DeviceType */ };

typedef void cpu_new(void *reporter, void *address, size_t bytes);
typedef void cpu_delete(void *reporter, void *address);
typedef void report(void *address, int64_t bytes, size_t allocated,
                    size_t reserved, uint16_t device);

/* State of the process: the functions of PyTorch get no user pointer. */
typedef struct memory_hooks {
    cpu_new *allocated; /* PyTorch's own functions; kept after the end for
                           threads that are still inside */
    cpu_delete *freed;
    report *reported;
    fd_import_slot slots[4];
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

typedef struct event {
    uint32_t device;
    uint64_t address;
    uint64_t bytes; /* 0: the block was freed */
} event;

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
        state->placed = true;
    }
    pthread_mutex_unlock(&state->lock);
}

static void
store_event(struct fd_memory_state *state, fd_tree *tree, const fd_context *at,
            event of)
{
    if (of.bytes != 0) {
        fd_memory_allocated(&state->use, tree, fd_tree_id(tree, at), of.device,
                            of.address, of.bytes);
    }
    else {
        fd_memory_freed(&state->use, tree, at->flags & FD_CONTEXT_PHASE,
                        of.address);
    }
}

/* Store an event aside. Requires the section of the thread. */
static void
store_aside(event of)
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
    else if (of.bytes != 0) {
        fd_memory_lose(&state->use, of.bytes);
    }
    pthread_mutex_unlock(&state->lock);
}

/* Return the thread, inside its section. A thread does not get a tree only
 * because it frees a block. */
static fd_thread *
entered_thread(const fd_thread *self, event of)
{
    bool known = self != NULL && self->tree != NULL;
    return of.bytes != 0 || known ? fd_native_enter() : NULL;
}

static void
note_event(event of)
{
    int error = errno;
    fd_thread *self = fd_thread_self;
    if (self != NULL && self->section.inside) {
        store_aside(of); /* called inside a hook */
        errno = error;
        return;
    }
    fd_thread *thread = entered_thread(self, of);
    if (thread != NULL) {
        struct fd_memory_state *state = thread->session->memory;
        if (state != NULL) {
            if (__builtin_expect(!state->placed, false)) {
                set_aside(state, thread->tree);
            }
            store_event(state, thread->tree, thread->tree->current, of);
        }
        fd_native_leave(thread);
    }
    else if ((thread = fd_thread_get()) != NULL) {
        fd_section_enter(&thread->section);
        store_aside(of);
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
        note_event((event){FD_MEMORY_CPU, (uintptr_t)address, bytes});
    }
    hooks.allocated(reporter, address, bytes);
}

static void
on_delete(void *reporter, void *address)
{
    if (__builtin_expect(hooks.probing, false)
        && hooks.probed == (uintptr_t)address) {
        hooks.returned = true;
    }
    if (address != NULL) {
        note_event((event){FD_MEMORY_CPU, (uintptr_t)address, 0});
    }
    hooks.freed(reporter, address);
}

/* Called for memory of CUDA, and for memory shared by processes. Type and
 * index of the device are bytes. */
static void
on_report(void *address, int64_t bytes, size_t allocated, size_t reserved,
          uint16_t device)
{
    uint32_t index = device >> 8;
    uint32_t type = device & 0xff;
    if (address != NULL && bytes != 0
        && (type == CPU
            || (type == CUDA && index < FD_MEMORY_DEVICES - FD_MEMORY_CUDA))) {
        note_event((event){.device = type == CPU ? FD_MEMORY_CPU
                                                 : FD_MEMORY_CUDA + index,
                           .address = (uintptr_t)address,
                           .bytes = bytes > 0 ? (uint64_t)bytes : 0});
    }
    hooks.reported(address, bytes, allocated, reserved, device);
}

void
fd_memory_reports_ignore(void)
{
    for (size_t i = 0; i < sizeof hooks.slots / sizeof *hooks.slots; i++) {
        fd_import_slot_restore(&hooks.slots[i]);
    }
}

static fd_status
find_symbols(fd_error *error)
{
    static const char *const names[] = {NEW, DELETE, REPORT};
    void *found[3];
    for (int i = 0; i < 3; i++) {
        found[i] = fd_libtorch_function(names[i]);
        if (found[i] == NULL) {
            return fd_fail(error, FD_EINVAL,
                           "memory is not measured: PyTorch has no %s",
                           names[i]);
        }
    }
    memcpy(&hooks.allocated, &found[0], sizeof(void *));
    memcpy(&hooks.freed, &found[1], sizeof(void *));
    memcpy(&hooks.reported, &found[2], sizeof(void *));
    return FD_OK;
}

/* Set the slots. Those of the GPU and of shared memory are optional: not every
 * PyTorch has them. PyTorch has one library of the GPU, whose device type is
 * CUDA on ROCm, too. */
static bool
listen_slots(void)
{
    static const char cpu[] = "libc10.so";
    return fd_import_slot_set(&hooks.slots[0], cpu, DELETE, (void *)on_delete)
        && fd_import_slot_set(&hooks.slots[1], cpu, NEW, (void *)on_new)
        && (fd_import_slot_set(&hooks.slots[2], "libtorch_cpu.so", REPORT,
                               (void *)on_report)
            || true)
        && (fd_import_slot_set(&hooks.slots[3], "libc10_cuda.so", REPORT,
                               (void *)on_report)
            || fd_import_slot_set(&hooks.slots[3], "libc10_hip.so", REPORT,
                                  (void *)on_report)
            || true);
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
fd_memory_reports_lock(fd_session *session)
{
    struct fd_memory_state *state = session->memory;
    if (state != NULL) {
        pthread_mutex_lock(&state->lock);
    }
}

void
fd_memory_reports_unlock(fd_session *session)
{
    struct fd_memory_state *state = session->memory;
    if (state != NULL) {
        pthread_mutex_unlock(&state->lock);
    }
}
