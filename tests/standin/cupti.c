/* A STAND-IN for NVIDIA's libcupti, for tests on machines without a GPU. It
 * has the activity interface as CUPTI 13.0 has it: one subscriber, buffers of
 * the user, records that are returned by a flush. Tests give it records of a
 * real GPU, byte for byte, or simulate launches. */
#define _GNU_SOURCE
#include "cupti.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SUCCESS = 0,
    INVALID_PARAMETER = 1,
    END = 12,
    INVALID_KIND = 21,
    TAKEN = 39,
    COPY = 1,
    FILL = 2,
    KERNEL = 10,
    NAMES = 4096,
    FUNCTIONS = 16,
    CALLBACKS = 128
};

typedef void callback(void *user, int domain, uint32_t function,
                      const void *data);
typedef void request(uint8_t **buffer, size_t *size, size_t *records);
typedef void complete(void *context, uint32_t stream, uint8_t *buffer,
                      size_t size, size_t valid);

typedef struct pointer_name {
    uint64_t pointer;
    char *text;
} pointer_name;

typedef struct function_state {
    const char *name;
    uint64_t calls;
    int result;
} function_state;

static struct {
    pthread_mutex_t lock;
    uint32_t version;
    char holder[64];
    callback *called;
    uint32_t enabled[CALLBACKS][2];
    int callbacks;
    uint32_t kinds;
    request *requested;
    complete *completed;
    bool taken_over;
    uint8_t *pending;
    size_t pending_bytes;
    bool delayed;
    bool torn;
    uint32_t correlation;
    uint64_t clock; /* end of the last kernel */
    pointer_name names[NAMES];
    int name_count;
    function_state functions[FUNCTIONS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t
record_bytes(const uint8_t *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    return kind == KERNEL ? 216 : kind == COPY ? 96 : kind == FILL ? 88 : 0;
}

void
standin_cupti_reset(void)
{
    free(state.pending);
    for (int i = 0; i < state.name_count; i++) {
        free(state.names[i].text);
    }
    memset((char *)&state + sizeof state.lock, 0,
           sizeof state - sizeof state.lock);
    state.version = 130001;
    state.correlation = 1;
}

__attribute__((constructor)) static void
start(void)
{
    standin_cupti_reset();
}

void
standin_cupti_version(uint32_t version)
{
    state.version = version;
}

void
standin_cupti_hold(const char *name)
{
    snprintf(state.holder, sizeof state.holder, "%s",
             name == NULL ? "" : name);
}

void
standin_cupti_take_over(void)
{
    state.taken_over = true;
    state.kinds = 1u << KERNEL | 1u << COPY | 1u << FILL;
}

static function_state *
function_of(const char *name)
{
    function_state *at = state.functions;
    while (at->name != NULL && strcmp(at->name, name) != 0) {
        at++;
    }
    at->name = name;
    return at;
}

/* The begin of every call: counts it, and returns its result. */
static int
enter(const char *name)
{
    pthread_mutex_lock(&state.lock);
    function_state *function = function_of(name);
    function->calls++;
    int result = function->result;
    pthread_mutex_unlock(&state.lock);
    return result;
}

void
standin_cupti_fail(const char *function, int result)
{
    function_of(function)->result = result;
}

uint64_t
standin_cupti_calls(const char *function)
{
    return function_of(function)->calls;
}

uint32_t
standin_cupti_kinds(void)
{
    return state.kinds;
}

void
standin_cupti_delay(int on)
{
    state.delayed = on != 0;
}

void
standin_cupti_tear(void)
{
    state.torn = true;
}

void
standin_cupti_next(uint32_t correlation)
{
    state.correlation = correlation;
}

void
standin_cupti_name(uint64_t pointer, const char *text)
{
    state.names[state.name_count++] = (pointer_name){pointer, strdup(text)};
}

/* The text of a kernel's name, as a pointer that stays valid. */
static const char *
name_at(uint64_t pointer)
{
    for (int i = 0; i < state.name_count; i++) {
        if (state.names[i].pointer == pointer) {
            return state.names[i].text;
        }
    }
    return NULL;
}

/* The copy of a text that serves as a name. */
static const char *
intern(const char *text)
{
    for (int i = 0; i < state.name_count; i++) {
        const char *known = state.names[i].text;
        if (state.names[i].pointer == (uintptr_t)known
            && strcmp(known, text) == 0) {
            return known;
        }
    }
    standin_cupti_name(0, text);
    pointer_name *made = &state.names[state.name_count - 1];
    made->pointer = (uintptr_t)made->text;
    return made->text;
}

/* The callback of a function, or NULL if it is not enabled. */
static callback *
callback_of(int domain, uint32_t function)
{
    callback *called = NULL;
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < state.callbacks; i++) {
        if (state.enabled[i][0] == (uint32_t)domain
            && state.enabled[i][1] == function) {
            called = state.called;
        }
    }
    pthread_mutex_unlock(&state.lock);
    return called;
}

/* The begin or the end of a call. */
static void
report_call(int domain, uint32_t function, uint32_t correlation, bool ends)
{
    uint8_t data[72] = {ends};
    memcpy(data + 64, &correlation, sizeof correlation);
    callback *called = callback_of(domain, function);
    if (called != NULL) {
        called(NULL, domain, function, data);
    }
}

void
standin_cupti_node(uint64_t node, uint64_t original)
{
    uint64_t description[7] = {0, 0, node, original};
    const void *resource[3] = {NULL, NULL, description};
    uint32_t event = original == 0 ? 13 : 20;
    callback *called = callback_of(3, event);
    uint32_t correlation = original == 0 ? state.correlation++ : 0;
    if (correlation != 0) {
        report_call(1, 307, correlation, false);
    }
    if (called != NULL) {
        called(NULL, 3, event, resource);
    }
    if (correlation != 0) {
        report_call(1, 307, correlation, true);
    }
}

int
cuptiGetGraphNodeId(const void *node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return SUCCESS;
}

void
standin_cupti_call(int domain, uint32_t function, uint32_t correlation)
{
    report_call(domain, function, correlation, false);
    report_call(domain, function, correlation, true);
}

void
standin_cupti_nested(uint32_t function, uint32_t correlation,
                     uint32_t of_driver, uint32_t inner)
{
    report_call(2, function, correlation, false);
    standin_cupti_call(1, of_driver, inner);
    report_call(2, function, correlation, true);
}

static void
add_record(const uint8_t *record, size_t size)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if ((state.kinds >> kind & 1) == 0) {
        return;
    }
    state.pending = realloc(state.pending, state.pending_bytes + size);
    uint8_t *to = state.pending + state.pending_bytes;
    memcpy(to, record, size);
    if (kind == KERNEL) {
        uint64_t pointer;
        memcpy(&pointer, record + 104, sizeof pointer);
        const char *name = name_at(pointer);
        memcpy(to + 104, &name, sizeof name);
    }
    state.pending_bytes += size;
}

void
standin_cupti_records(const uint8_t *bytes, size_t size)
{
    pthread_mutex_lock(&state.lock);
    for (size_t at = 0, next; at < size; at += next) {
        next = record_bytes(bytes + at);
        if (next == 0 || at + next > size) {
            break;
        }
        add_record(bytes + at, next);
    }
    pthread_mutex_unlock(&state.lock);
}

static uint64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Launch work on stream 7: a record of which the first bytes are given, with
 * the offsets of its stream and correlation id. */
static void
launch(uint8_t record[216], uint64_t ns, size_t stream_at, size_t id_at,
       int domain, uint32_t function)
{
    pthread_mutex_lock(&state.lock);
    uint32_t correlation = state.correlation++;
    uint64_t start = now() > state.clock ? now() : state.clock;
    uint64_t end = start + ns;
    state.clock = end;
    pthread_mutex_unlock(&state.lock);
    uint32_t stream = 7;
    memcpy(record + 16, &start, sizeof start);
    memcpy(record + 24, &end, sizeof end);
    memcpy(record + stream_at, &stream, sizeof stream);
    memcpy(record + id_at, &correlation, sizeof correlation);
    standin_cupti_call(domain, function, correlation);
    pthread_mutex_lock(&state.lock);
    add_record(record, record_bytes(record));
    pthread_mutex_unlock(&state.lock);
}

void
standin_cupti_copy(int direction, int from, int to, uint64_t ns,
                   uint64_t bytes)
{
    uint8_t record[216] = {COPY};
    record[4] = (uint8_t)direction;
    record[5] = (uint8_t)from;
    record[6] = (uint8_t)to;
    memcpy(record + 8, &bytes, sizeof bytes);
    launch(record, ns, 40, 44, 2, 41);
}

void
standin_cupti_launch(const char *name, uint64_t ns, uint64_t bytes)
{
    uint8_t record[216] = {KERNEL};
    if (name == NULL) {
        standin_cupti_copy(1, 1, 3, ns, bytes); /* of pageable memory */
        return;
    }
    pthread_mutex_lock(&state.lock);
    uint64_t pointer = (uintptr_t)intern(name);
    pthread_mutex_unlock(&state.lock);
    memcpy(record + 104, &pointer, sizeof pointer);
    launch(record, ns, 48, 92, 1, 307);
}

typedef struct thread_launch {
    const char *thread;
    const char *name;
    uint64_t ns;
} thread_launch;

static void *
launch_on_thread(void *argument)
{
    const thread_launch *what = argument;
    pthread_setname_np(pthread_self(), what->thread);
    standin_cupti_launch(what->name, what->ns, 0);
    return NULL;
}

void
standin_cupti_thread(const char *thread, const char *name, uint64_t ns)
{
    thread_launch what = {thread, name, ns};
    pthread_t started;
    if (pthread_create(&started, NULL, launch_on_thread, &what) == 0) {
        pthread_join(started, NULL);
    }
}

void
standin_cupti_wait(void)
{
    uint64_t time = now();
    uint64_t left = state.clock > time ? state.clock - time : 0;
    struct timespec pause = {(time_t)(left / 1000000000),
                             (long)(left % 1000000000)};
    nanosleep(&pause, NULL);
}

int
cuptiGetVersion(uint32_t *version)
{
    *version = state.version;
    return enter("cuptiGetVersion");
}

typedef struct names {
    size_t size;
    const char *own;
    char *holder;
    size_t holder_size;
} names;

int
cuptiSubscribe_v2(void **subscriber, callback *called, void *user,
                  names *parameters)
{
    int result = enter("cuptiSubscribe_v2");
    (void)user;
    if (result == SUCCESS && (state.called != NULL || state.holder[0] != 0)) {
        snprintf(parameters->holder, parameters->holder_size, "%s",
                 state.holder);
        result = TAKEN;
    }
    if (result == SUCCESS) {
        state.called = called;
        state.callbacks = 0;
        *subscriber = &state;
    }
    return result;
}

int
cuptiSubscribe(void **subscriber, callback *called, void *user)
{
    char holder[64];
    names parameters = {sizeof parameters, "", holder, sizeof holder};
    return cuptiSubscribe_v2(subscriber, called, user, &parameters);
}

int
cuptiUnsubscribe(void *subscriber)
{
    int result = enter("cuptiUnsubscribe");
    if (subscriber != &state || state.called == NULL) {
        return INVALID_PARAMETER;
    }
    pthread_mutex_lock(&state.lock);
    state.called = NULL;
    state.callbacks = 0;
    pthread_mutex_unlock(&state.lock);
    return result;
}

int
cuptiEnableCallback(uint32_t on, void *subscriber, int domain,
                    uint32_t function)
{
    int result = enter("cuptiEnableCallback");
    if (result != SUCCESS || subscriber != &state || on == 0) {
        return result != SUCCESS ? result : INVALID_PARAMETER;
    }
    pthread_mutex_lock(&state.lock);
    state.enabled[state.callbacks][0] = (uint32_t)domain;
    state.enabled[state.callbacks++][1] = function;
    pthread_mutex_unlock(&state.lock);
    return SUCCESS;
}

int
cuptiActivityEnable(int kind)
{
    int result = enter("cuptiActivityEnable");
    state.kinds |= result == SUCCESS ? 1u << kind : 0;
    return result;
}

int
cuptiActivityDisable(int kind)
{
    int result = enter("cuptiActivityDisable");
    state.kinds &= result == SUCCESS ? ~(1u << kind) : UINT32_MAX;
    return result;
}

int
cuptiActivityRegisterCallbacks(request *requested, complete *completed)
{
    int result = enter("cuptiActivityRegisterCallbacks");
    if (result == SUCCESS) {
        state.requested = requested;
        state.completed = completed;
        state.taken_over = false;
    }
    return result;
}

int
cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *at = *record;
    at = at == NULL ? buffer : at + record_bytes(at);
    size_t left = valid - (size_t)(at - buffer);
    if (left == 0) {
        return END;
    }
    size_t size = left < 4 ? 0 : record_bytes(at);
    if (size == 0 || size > left) {
        return INVALID_KIND;
    }
    *record = at;
    return SUCCESS;
}

int
cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
                                  size_t *count)
{
    (void)context;
    (void)stream;
    *count = 0;
    return enter("cuptiActivityGetNumDroppedRecords");
}

/* Fill a buffer with pending records; return its valid bytes. */
static size_t
fill_buffer(uint8_t *buffer, size_t size)
{
    size_t taken = 0;
    while (taken < state.pending_bytes) {
        size_t next = record_bytes(state.pending + taken);
        if (taken + next > size) {
            break;
        }
        taken += next;
    }
    memcpy(buffer, state.pending, taken);
    state.pending_bytes -= taken;
    memmove(state.pending, state.pending + taken, state.pending_bytes);
    size_t valid = state.torn && taken > 0 ? taken - 8 : taken;
    state.torn = state.torn && taken == 0;
    return valid;
}

int
cuptiActivityFlushAll(uint32_t forced)
{
    int result = enter("cuptiActivityFlushAll");
    pthread_mutex_lock(&state.lock);
    if (state.taken_over) {
        state.pending_bytes = 0; /* the other tool gets them */
    }
    while (result == SUCCESS && state.pending_bytes > 0
           && state.requested != NULL && (!state.delayed || forced != 0)) {
        uint8_t *buffer = NULL;
        size_t size = 0;
        size_t records = 0;
        state.requested(&buffer, &size, &records);
        size_t valid = fill_buffer(buffer, size);
        state.completed(NULL, 0, buffer, size, valid);
    }
    pthread_mutex_unlock(&state.lock);
    return result;
}
