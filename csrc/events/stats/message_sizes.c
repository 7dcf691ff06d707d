#include "events/stats/message_sizes.h"

#include "base/scalar_types.h"

#include <string.h>

enum { MOST_BYTES_BITS = 60 };

/* Return the operation of a slice if it transfers data between the ranks of a
 * group. */
static fd_operation
operation_of(fd_span name)
{
    fd_operation found = fd_operation_of(name.from, fd_span_size(name));
    return found == FD_REDUCE_SCATTER_BLOCK                ? FD_REDUCE_SCATTER
         : found == FD_BARRIER || found == FD_SEND_RECEIVE ? FD_OPERATION_NONE
                                                           : found;
}

static uint32_t
item_size(fd_span type)
{
    return fd_dtype_size(type.from, fd_span_size(type));
}

/* Count the elements of a shape: [2,3] has 6, [] has 1. */
static bool
elements_of(fd_span shape, uint64_t *count)
{
    fd_scan scan = {.at = shape.from, .end = shape.to, .forgets = true};
    fd_span value;
    uint64_t number;
    *count = 1;
    if (fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return false;
    }
    fd_scan_result result;
    for (bool first = true;
         (result = fd_scan_element(&scan, first, &value)) == FD_SCAN_OK;
         first = false) {
        if (!fd_span_u64(value, &number)
            || __builtin_mul_overflow(*count, number, count)) {
            return false;
        }
    }
    return result == FD_SCAN_DONE;
}

/* Sum the bytes of all inputs that are tensors. */
static bool
bytes_of_inputs(fd_span shapes, fd_span types, uint64_t *bytes)
{
    fd_scan shape = {.at = shapes.from, .end = shapes.to, .forgets = true};
    fd_scan type = {.at = types.from, .end = types.to, .forgets = true};
    fd_span one_shape;
    fd_span one_type;
    uint64_t count;
    bool any = false;
    *bytes = 0;
    if (shapes.from == NULL || types.from == NULL
        || fd_scan_mark(&shape, '[') != FD_SCAN_OK
        || fd_scan_mark(&type, '[') != FD_SCAN_OK) {
        return false;
    }
    for (bool first = true;
         fd_scan_element(&shape, first, &one_shape) == FD_SCAN_OK
         && fd_scan_element(&type, first, &one_type) == FD_SCAN_OK;
         first = false) {
        uint32_t item = item_size(fd_span_inside(one_type));
        if (item == 0) {
            continue;
        }
        if (!elements_of(one_shape, &count)
            || count > (UINT64_C(1) << MOST_BYTES_BITS) / 16
            || __builtin_add_overflow(*bytes, count * item, bytes)) {
            return false;
        }
        any = true;
    }
    return any && *bytes >> MOST_BYTES_BITS == 0;
}

static bool
bytes_of_elements(fd_span elements, fd_span type, uint64_t *bytes)
{
    uint64_t count;
    uint32_t item = type.from != NULL ? item_size(fd_span_inside(type)) : 0;
    if (item == 0 || elements.from == NULL
        || !fd_span_u64(fd_span_inside(elements), &count)
        || count > (UINT64_C(1) << MOST_BYTES_BITS) / 16) {
        return false;
    }
    *bytes = count * item;
    return true;
}

/* Count the ranks of "Process Group Ranks", a list or a text with a list. A
 * long list is truncated. */
static uint32_t
count_ranks(fd_span value)
{
    fd_span text = fd_span_inside(value);
    uint32_t count = 0;
    bool in_number = false;
    for (const char *at = text.from; at < text.to; at++) {
        bool digit = *at >= '0' && *at <= '9';
        count += digit && !in_number;
        in_number = digit;
        if (*at == '.') {
            return 0;
        }
    }
    return count;
}

static uint32_t
members_of(fd_span size, fd_span ranks)
{
    uint64_t number;
    if (size.from != NULL && fd_span_u64(fd_span_inside(size), &number)
        && number > 0 && number <= UINT32_MAX) {
        return (uint32_t)number;
    }
    return ranks.from != NULL ? count_ranks(ranks) : 0;
}

/* Set the size as nccl-tests counts it: the buffer of all ranks together for
 * gather and scatter operations, otherwise the buffer of one rank. */
static void
set_bytes(fd_message *message, const uint64_t *in, const uint64_t *out)
{
    bool gathers =
        message->operation == FD_ALL_GATHER || message->operation == FD_GATHER;
    bool scatters = message->operation == FD_SCATTER;
    const uint64_t *size =
        message->operation == FD_RECEIVE && out != NULL ? out : in;
    uint64_t times = 1;
    if (message->operation == FD_ALL_GATHER && out != NULL) {
        size = out;
    }
    else if (gathers || (scatters && out != NULL)) {
        size = gathers ? in : out;
        times = message->members;
    }
    message->sized = size != NULL && times > 0
                  && !__builtin_mul_overflow(*size, times, &message->bytes);
}

void
fd_message_read(const fd_timeline_event *event, fd_span name,
                fd_message *message)
{
    static const char *const names[] = {
        "Collective name", "In msg nelems", "Out msg nelems",
        "dtype",           "Group size",    "Process Group Ranks",
        "Input Dims",      "Input type"};
    fd_span values[sizeof names / sizeof *names] = {{NULL, NULL}};
    uint64_t in = 0;
    uint64_t out = 0;
    fd_span args = event->args;
    *message = (fd_message){.operation = FD_OPERATION_NONE};
    if (args.from != NULL
        && !fd_scan_members(args, names, sizeof names / sizeof *names,
                            values)) {
        memset(values, 0, sizeof values);
    }
    if (values[0].from != NULL) {
        message->operation = operation_of(fd_span_inside(values[0]));
    }
    else {
        message->operation = operation_of(name);
    }
    if (message->operation == FD_OPERATION_NONE) {
        return;
    }
    message->members = members_of(values[4], values[5]);
    bool has_in = bytes_of_elements(values[1], values[3], &in)
               || bytes_of_inputs(values[6], values[7], &in);
    bool has_out = bytes_of_elements(values[2], values[3], &out);
    set_bytes(message, has_in ? &in : NULL, has_out ? &out : NULL);
}

const char *
fd_operation_name(fd_operation operation)
{
    static const char *const names[FD_OPERATIONS] = {
        "",           "all_reduce",  "all_gather", "reduce_scatter",
        "all_to_all", "broadcast",   "reduce",     "gather",
        "scatter",    "send",        "receive",    "reduce_scatter",
        "barrier",    "send_receive"};
    return names[operation];
}

double
fd_operation_bus(fd_operation operation, uint32_t members)
{
    double n = members;
    switch (operation) {
    case FD_ALL_REDUCE:
        return members > 0 ? 2 * (n - 1) / n : 0;
    case FD_ALL_GATHER:
    case FD_REDUCE_SCATTER:
    case FD_REDUCE_SCATTER_BLOCK:
    case FD_ALL_TO_ALL:
    case FD_GATHER:
    case FD_SCATTER:
        return members > 0 ? (n - 1) / n : 0;
    case FD_BROADCAST:
    case FD_REDUCE:
    case FD_SEND:
    case FD_RECEIVE:
        return 1;
    case FD_BARRIER:
    case FD_SEND_RECEIVE:
    case FD_OPERATIONS:
    case FD_OPERATION_NONE:
        break;
    }
    return 0;
}
