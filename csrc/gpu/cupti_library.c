#include "gpu/cupti_library.h"

#include "recording/gpu_format.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The first two are known; others are named as the reason. */
static const char *const libraries[] = {"libcupti.so.13",   "libcupti.so.12",
                                        "libcupti.so.14",   "libcupti.so.15",
                                        "libcupti.so.11.8", "libcupti.so"};

/* Interfaces whose records are known: CUDA 12.4 to 12.9 count them, later ones
 * have 10000 * major + 100 * minor. */
static const uint32_t known[][2] = {{22, 27}, {130000, 130599}};

typedef struct symbol {
    size_t offset; /* in fd_cupti */
    const char *name;
    bool optional;
} symbol;

#define PLACE(field) offsetof(fd_cupti, field)

static const symbol symbols[] = {
    {PLACE(version), "cuptiGetVersion", false},
    {PLACE(subscribe), "cuptiSubscribe", false},
    {PLACE(subscribe_named), "cuptiSubscribe_v2", true},
    {PLACE(unsubscribe), "cuptiUnsubscribe", false},
    {PLACE(enable_callback), "cuptiEnableCallback", false},
    {PLACE(enable), "cuptiActivityEnable", false},
    {PLACE(disable), "cuptiActivityDisable", false},
    {PLACE(register_buffers), "cuptiActivityRegisterCallbacks", false},
    {PLACE(next_record), "cuptiActivityGetNextRecord", false},
    {PLACE(dropped), "cuptiActivityGetNumDroppedRecords", false},
    {PLACE(flush), "cuptiActivityFlushAll", false},
    {PLACE(graph_node), "cuptiGetGraphNodeId", true},
};

/* Where the fields of a record are. 0: it has no such field. */
typedef struct layout {
    uint8_t kind;
    uint8_t bytes_read; /* up to the end of the last field */
    uint8_t device;
    uint8_t stream;
    uint8_t correlation;
    uint8_t name;
    uint8_t copy; /* direction; then the kinds of memory */
    uint8_t bytes;
    uint8_t to; /* kind of memory of a fill */
    uint8_t node;
} layout;

enum { START = 16, END = 24 }; /* in all of them */

static const layout layouts[] = {
    {FD_CUPTI_KERNEL, 152, 40, 48, 92, 104, 0, 0, 0, 144},
    {FD_CUPTI_COPY, 72, 32, 40, 44, 0, 4, 8, 0, 64},
    {FD_CUPTI_FILL, 72, 32, 40, 44, 0, 0, 8, 50, 64},
};

/* Offsets in the data of a callback. */
enum { SITE = 0, CORRELATION = 64, SITE_ENTER = 0 };

/* Fail if the records of an interface are not known. */
static fd_status
check_interface(const char *name, uint32_t number, fd_error *error)
{
    enum { KNOWN = sizeof known / sizeof *known };
    for (size_t i = 0; i < KNOWN; i++) {
        if (number >= known[i][0] && number <= known[i][1]) {
            return FD_OK;
        }
    }
    if (number < known[0][0]) {
        return fd_fail(error, FD_EINVAL, "%s is older than that of CUDA 12.4",
                       name);
    }
    return fd_fail(error, FD_EINVAL,
                   "%s of CUDA %u.%u is newer than this version of "
                   "fastdispatch, which knows CUDA 13.5",
                   name, number / 10000, number / 100 % 100);
}

static fd_status
look_up(fd_cupti *cupti, void *library, const char *name, fd_error *error)
{
    *cupti = (fd_cupti){.library = name};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL && !symbols[i].optional) {
            return fd_fail(error, FD_EINVAL, "%s has no %s", name,
                           symbols[i].name);
        }
        memcpy((char *)cupti + symbols[i].offset, &address, sizeof address);
    }
    int result = cupti->version(&cupti->number);
    if (result != FD_CUPTI_SUCCESS) {
        return fd_fail(error, FD_EINVAL,
                       "%s: its version is not known (error %d)", name,
                       result);
    }
    return check_interface(name, cupti->number, error);
}

fd_status
fd_cupti_find(fd_cupti *cupti, fd_error *error)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            fd_status status = look_up(cupti, library, libraries[i], error);
            /* It stays loaded, because the program has opened it. */
            dlclose(library);
            return status;
        }
    }
    return fd_fail(error, FD_EINVAL, "no libcupti is loaded");
}

/* CUPTI's parameters of a subscription with a name. */
typedef struct subscription_names {
    size_t size;
    const char *own;
    char *holder;
    size_t holder_size;
    uint8_t shared;
    uint8_t unused[7];
} subscription_names;

int
fd_cupti_subscribe(const fd_cupti *cupti, void **subscriber,
                   fd_cupti_called *called, char holder[64])
{
    holder[0] = '\0';
    if (cupti->subscribe_named == NULL) {
        return cupti->subscribe(subscriber, called, NULL);
    }
    subscription_names names = {.size = offsetof(subscription_names, shared),
                                .own = "fastdispatch",
                                .holder = holder,
                                .holder_size = 64};
    int result = cupti->subscribe_named(subscriber, called, NULL, &names);
    holder[63] = '\0';
    return result;
}

/* Return why CUPTI refuses; NULL for other errors. */
static const char *
refusal_text(int result)
{
    static const struct {
        int result;
        const char *text;
    } refusals[] = {
        {8, "out of memory"},
        {15, "it cannot connect to the CUDA driver"},
        {27, "not supported on this system or device"},
        {33, "virtual GPUs are not supported"},
        {FD_CUPTI_REFUSED, "no permission to trace the GPU"},
        {40, "the hypervisor does not permit to trace the GPU"},
        {41, "confidential computing is not supported"},
        {43, "Multi-Instance GPU (MIG) is not supported"},
        {45, "WSL is not supported"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (refusals[i].result == result) {
            return refusals[i].text;
        }
    }
    return NULL;
}

uint32_t
fd_cupti_listen(const fd_cupti *cupti, void *subscriber)
{
    uint32_t count = 0;
    /* An id that the library does not have is refused, which is harmless. */
    for (size_t i = 0; fd_launch_function_at(i) != 0; i++) {
        uint32_t function = fd_launch_function_at(i);
        int result = cupti->enable_callback(
            1, subscriber, (int)(function >> 16), function & 0xffff);
        count += result == FD_CUPTI_SUCCESS;
    }
    if (cupti->graph_node != NULL) {
        cupti->enable_callback(1, subscriber, FD_CUPTI_RESOURCE,
                               FD_CUPTI_NEW_NODE);
        cupti->enable_callback(1, subscriber, FD_CUPTI_RESOURCE,
                               FD_CUPTI_COPIED);
    }
    return count;
}

static const int kinds[] = {FD_CUPTI_KERNEL, FD_CUPTI_COPY, FD_CUPTI_FILL};
enum { KINDS = sizeof kinds / sizeof *kinds };

void
fd_cupti_disable(const fd_cupti *cupti)
{
    for (int i = 0; i < KINDS; i++) {
        cupti->disable(kinds[i]);
    }
}

/* Register buffers and enable records and callbacks. Return CUPTI's error;
 * `refused` becomes what it refuses. */
static int
enable_records(const fd_cupti *cupti, const fd_cupti_functions *functions,
               void *subscriber, const char **refused)
{
    *refused = "buffers for records";
    int result =
        cupti->register_buffers(functions->requested, functions->completed);
    for (int i = 0; i < KINDS && result == FD_CUPTI_SUCCESS; i++) {
        *refused = "records of kernels";
        result = cupti->enable(kinds[i]);
    }
    if (result == FD_CUPTI_SUCCESS
        && fd_cupti_listen(cupti, subscriber) == 0) {
        *refused = "callbacks of launches";
        result = FD_CUPTI_INVALID;
    }
    return result;
}

static void
describe_refusal(char problem[FD_PROBLEM], const char *library, int result,
                 const char *holder, const char *refused)
{
    if (result == FD_CUPTI_TAKEN) {
        snprintf(problem, FD_PROBLEM, "%s is in use by %s", library,
                 holder[0] != '\0' ? holder : "another tool");
    }
    else if (refusal_text(result) != NULL) {
        snprintf(problem, FD_PROBLEM, "%s: %s", library, refusal_text(result));
    }
    else {
        snprintf(problem, FD_PROBLEM, "%s refuses %s (error %d)", library,
                 refused, result);
    }
}

bool
fd_cupti_take(const fd_cupti *cupti, const fd_cupti_functions *functions,
              void **subscriber, char problem[FD_PROBLEM])
{
    char holder[64];
    const char *refused = "a subscription";
    int result =
        fd_cupti_subscribe(cupti, subscriber, functions->called, holder);
    if (result == FD_CUPTI_SUCCESS) {
        result = enable_records(cupti, functions, *subscriber, &refused);
        if (result != FD_CUPTI_SUCCESS) {
            fd_cupti_disable(cupti);
            cupti->unsubscribe(*subscriber);
        }
    }
    if (result != FD_CUPTI_SUCCESS) {
        *subscriber = NULL;
        describe_refusal(problem, cupti->library, result, holder, refused);
    }
    return result == FD_CUPTI_SUCCESS;
}

static uint32_t
read_u32(const void *record, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static uint64_t
read_u64(const void *record, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

uint32_t
fd_cupti_launched(const void *call, bool *begins)
{
    *begins = read_u32(call, SITE) == SITE_ENTER;
    return read_u32(call, CORRELATION);
}

uint64_t
fd_cupti_node(const fd_cupti *cupti, const void *resource, bool original)
{
    enum { DESCRIPTION = 16, NODE = 16, ORIGINAL = 24 };
    uint64_t id = 0;
    const void *description;
    const void *node;
    memcpy(&description, (const char *)resource + DESCRIPTION,
           sizeof description);
    if (description == NULL || cupti->graph_node == NULL) {
        return 0;
    }
    memcpy(&node, (const char *)description + (original ? ORIGINAL : NODE),
           sizeof node);
    return node != NULL && cupti->graph_node(node, &id) == FD_CUPTI_SUCCESS
             ? id
             : 0;
}

static void
decode_with(const layout *at, const void *record, fd_cupti_record *to)
{
    *to = (fd_cupti_record){
        .kind = at->kind,
        .device = read_u32(record, at->device),
        .stream = read_u32(record, at->stream),
        .correlation = read_u32(record, at->correlation),
        .start = read_u64(record, START),
        .end = read_u64(record, END),
        .node = read_u64(record, at->node),
    };
    const uint8_t *bytes = record;
    if (at->name != 0) {
        memcpy(&to->name, bytes + at->name, sizeof to->name);
    }
    if (at->bytes != 0) {
        to->bytes = read_u64(record, at->bytes);
    }
    if (at->copy != 0) {
        to->copy = bytes[at->copy];
        to->from = bytes[at->copy + 1];
        to->to = bytes[at->copy + 2];
    }
    if (at->to != 0) {
        to->to = bytes[at->to];
    }
}

bool
fd_cupti_decode(const void *record, size_t room, fd_cupti_record *to)
{
    uint32_t kind = room >= sizeof kind ? read_u32(record, 0) : 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].kind == kind) {
            if (room < layouts[i].bytes_read) {
                return false;
            }
            decode_with(&layouts[i], record, to);
            return true;
        }
    }
    return false;
}
