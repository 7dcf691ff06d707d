#include "et/et_names.h"

#include "base/collective_names.h"

#include <string.h>

uint8_t
fd_et_root(const char *name)
{
    static const char *const heads[] = {"[pytorch|profiler|execution_trace|",
                                        "[pytorch|profiler|execution_graph|"};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(heads[i]);
        if (strncmp(name, heads[i], size) == 0) {
            return strcmp(name + size, "thread]") == 0  ? FD_ET_THREAD
                 : strcmp(name + size, "process]") == 0 ? FD_ET_PROCESS
                                                        : 0;
        }
    }
    return 0;
}

static bool
begins_with(const char *name, const char *head)
{
    return strncmp(name, head, strlen(head)) == 0;
}

fd_et_comm_level
fd_et_comm_level_of(const char *name, bool gpu)
{
    static const char *const work[] = {
        "gloo:", "nccl:", "ucc:", "mpi:", "xccl:", "hccl:"};
    if (gpu) {
        return strstr(name, "ncclKernel") != NULL
                    || strstr(name, "ncclDevKernel") != NULL
                    || strstr(name, "ncclSymk") != NULL
                    || begins_with(name, "nccl")
                    || strstr(name, "rccl") != NULL
                 ? FD_ET_COMM_KERNEL
                 : FD_ET_NO_COMM;
    }
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        if (begins_with(name, work[i])) {
            return FD_ET_COMM_WORK;
        }
    }
    if (strcmp(name, "record_param_comms") == 0) {
        return FD_ET_COMM_PARAMS;
    }
    return begins_with(name, "c10d::")
                || begins_with(name, "_c10d_functional::")
             ? FD_ET_COMM_CALL
             : FD_ET_NO_COMM;
}

fd_et_type
fd_et_comm_type(const char *name, int32_t *coll)
{
    static const int8_t colls[FD_OPERATIONS] = {
        [FD_OPERATION_NONE] = -1,
        [FD_ALL_REDUCE] = FD_ET_ALL_REDUCE,
        [FD_ALL_GATHER] = FD_ET_ALL_GATHER,
        [FD_REDUCE_SCATTER] = FD_ET_REDUCE_SCATTER,
        [FD_ALL_TO_ALL] = FD_ET_ALL_TO_ALL,
        [FD_BROADCAST] = FD_ET_BROADCAST,
        [FD_REDUCE] = FD_ET_REDUCE,
        [FD_GATHER] = FD_ET_GATHER,
        [FD_SCATTER] = FD_ET_SCATTER,
        [FD_SEND] = -1,
        [FD_RECEIVE] = -1,
        [FD_REDUCE_SCATTER_BLOCK] = FD_ET_REDUCE_SCATTER_BLOCK,
        [FD_BARRIER] = FD_ET_BARRIER,
        [FD_SEND_RECEIVE] = -1};
    fd_operation found = fd_operation_of(name, strlen(name));
    *coll = colls[found];
    return found == FD_OPERATION_NONE ? FD_ET_COMP
         : found == FD_SEND           ? FD_ET_SEND
         : found == FD_RECEIVE        ? FD_ET_RECV
                                      : FD_ET_COLL;
}

static const char *
skip_space(const char *at, const char *end)
{
    while (at < end && fd_json_is_space(*at)) {
        at++;
    }
    return at;
}

/* Parse a number of at most 64 bits and the comma after it. */
static bool
take_number(const char **at, const char *end, uint64_t *number)
{
    const char *from = skip_space(*at, end);
    const char *to = from;
    while (to < end && *to >= '0' && *to <= '9') {
        to++;
    }
    *at = skip_space(to, end);
    bool comma = *at < end && **at == ',';
    *at += comma;
    return comma && fd_span_u64((fd_span){from, to}, number);
}

static const char *
skip_string(const char *at, const char *end)
{
    char quote = *at;
    for (at++; at < end && *at != quote; at++) {
        at += *at == '\\' && end - at > 1;
    }
    return at < end ? at + 1 : end;
}

/* Parse six values of which the last is a text: "7,8,0,40,4,"cpu"]", with any
 * white space between them. */
static bool
take_tensor(const char *at, const char *end, fd_et_tensor *t)
{
    if (!take_number(&at, end, &t->id) || !take_number(&at, end, &t->storage)
        || !take_number(&at, end, &t->offset)
        || !take_number(&at, end, &t->elements)
        || !take_number(&at, end, &t->item)) {
        return false;
    }
    at = skip_space(at, end);
    return at < end && (*at == '"' || *at == '\'');
}

bool
fd_et_next_tensor(fd_span *values, fd_et_tensor *tensor)
{
    while (values->from < values->to) {
        if (*values->from == '"' || *values->from == '\'') {
            values->from = skip_string(values->from, values->to);
        }
        else if (*values->from++ == '['
                 && take_tensor(values->from, values->to, tensor)) {
            return true;
        }
    }
    return false;
}

bool
fd_et_tensor_bytes(fd_span values, uint64_t *bytes)
{
    fd_et_tensor tensor;
    bool any = false;
    *bytes = 0;
    while (fd_et_next_tensor(&values, &tensor)) {
        uint64_t size;
        any = true;
        if (__builtin_mul_overflow(tensor.elements, tensor.item, &size)
            || __builtin_add_overflow(*bytes, size, bytes)) {
            *bytes = 0;
            return false;
        }
    }
    return any;
}
