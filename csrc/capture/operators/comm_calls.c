#include "capture/operators/comm_calls.h"

#include "base/scalar_types.h"
#include "capture/operands/operand_shapes.h"
#include "capture/operands/process_groups.h"
#include "capture/torch/record_layout.h"
#include "recording/measures/latest_calls.h"

#include <stdio.h>
#include <string.h>

/* Indexes of the operands that an operator sends and receives. */
enum { NO_PLACE = 255, NO_TYPE = UINT16_MAX, MOST_NAME = 256, DEEPEST = 3 };

typedef struct comm_operator {
    const char *name;
    uint8_t sent;
    uint8_t received;
    bool message; /* between two ranks: not a collective of the group */
} comm_operator;

static const comm_operator operators[] = {
    {"allreduce_", 0, 0, false},
    {"allreduce_coalesced_", 0, 0, false},
    {"reduce_", 0, 0, false},
    {"broadcast_", 0, 0, false},
    {"_allgather_base_", 1, 0, false},
    {"allgather_", 1, 0, false},
    {"allgather_coalesced_", 1, 0, false},
    {"allgather_into_tensor_coalesced_", 1, 0, false},
    {"_reduce_scatter_base_", 1, 0, false},
    {"reduce_scatter_", 1, 0, false},
    {"reduce_scatter_tensor_coalesced_", 1, 0, false},
    {"gather_", 1, 0, false},
    {"scatter_", 1, 0, false},
    {"alltoall_", 1, 0, false},
    {"alltoall_base_", 1, 0, false},
    {"barrier", NO_PLACE, NO_PLACE, false},
    {"monitored_barrier_", NO_PLACE, NO_PLACE, false},
    {"send", 0, NO_PLACE, true},
    {"recv_", NO_PLACE, 0, true},
    {"recv_any_source_", NO_PLACE, 0, true},
};

/* Return the description of an operator, or NULL if it is not
 * communication. */
static const comm_operator *
operator_of(const void *record)
{
    static const char space[] = "c10d::";
    if (!fd_record_has_schema(record)) {
        return NULL;
    }
    uint64_t schema = fd_record_word(record, FD_RECORD_FUNCTION);
    const fd_cpp_text *named = (const fd_cpp_text *)(uintptr_t)schema;
    const char *name = named->text;
    if (__builtin_expect(named->size < sizeof space
                             || memcmp(name, space, sizeof space - 1) != 0,
                         true)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(operators[i].name, name + sizeof space - 1) == 0) {
            return &operators[i];
        }
    }
    return NULL;
}

/* Return the string "NAME:SIZE" of the group among the operands, or 0 if
 * unknown. */
static uint32_t
group_of(const fd_session *session, fd_operand_list inputs)
{
    uint64_t box;
    for (uint32_t i = 0; i < inputs.count; i++) {
        uint64_t group =
            fd_operands_box(inputs, i, &box) ? fd_process_group_in(box) : 0;
        if (group != 0) {
            return fd_group_names_find(&session->groups, group);
        }
    }
    return 0;
}

/* Return the element type of the first tensor, including those in nested
 * lists. */
static uint16_t
type_of(fd_operand_list list, int depth)
{
    fd_operand_list inner;
    uint16_t type = NO_TYPE;
    for (uint32_t i = 0; i < list.count && type == NO_TYPE; i++) {
        const fd_tensor_fields *tensor = fd_operands_tensor(list, i);
        if (tensor != NULL) {
            return tensor->dtype;
        }
        if (depth < DEEPEST && fd_operands_list(list, i, &inner)) {
            type = type_of(inner, depth + 1);
        }
    }
    return type;
}

/* Return the string "float32 NAME:SIZE", created at its first use. */
static uint32_t
detail_of(fd_session *session, uint32_t group, uint16_t type)
{
    uintptr_t key = (uintptr_t)group << 16 | ((type + 1U) & 0xffff) | 1U << 15;
    uint32_t text = fd_operators_find(&session->comm_texts, key);
    if (text != 0) {
        return text;
    }
    char name[MOST_NAME];
    snprintf(name, sizeof name, "%s %s",
             type == NO_TYPE ? "none" : fd_dtype_at(type)->name,
             group == 0 ? "?:0"
                        : fd_strings_text(&session->recording->file, group));
    return fd_operators_add_text(&session->comm_texts, session->recording, key,
                                 name);
}

static bool
is_async(fd_operand_list inputs)
{
    bool async = false;
    for (uint32_t i = 0; i < inputs.count; i++) {
        if (fd_operands_bool(inputs, i, &async)) {
            break;
        }
    }
    return async;
}

static uint64_t
bytes_at(fd_operand_list inputs, uint8_t at)
{
    return fd_operand_shapes_of(fd_operands_item(inputs, at), false).bytes;
}

static uint32_t
type_text(fd_thread *thread, const comm_operator *what, fd_operand_list inputs,
          uint32_t group)
{
    uint16_t type = type_of(fd_operands_item(inputs, what->sent), 0);
    if (type == NO_TYPE) { /* this rank only receives */
        type = type_of(fd_operands_item(inputs, what->received), 0);
    }
    return detail_of(thread->session, group, type);
}

/* Count the call as one of its group. */
static void
add_collective(fd_thread *thread, fd_latest_call *call, uint32_t group)
{
    fd_tree *tree = thread->tree;
    fd_measure_key key = {.context = fd_tree_id(tree, tree->root),
                          .kind = FD_MEASURE_COLLECTIVES,
                          .detail = group};
    fd_measure_add(fd_measures_at(tree, key), 0, 0);
    call->group = group;
    call->number = fd_group_names_call(&thread->session->groups, group);
    if (call->number != 0) {
        fd_latest_begin(tree, call);
    }
}

void
fd_comm_call_start(fd_thread *thread, const void *record)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    const comm_operator *what = operator_of(record);
    if (what == NULL || depth == 0
        || tree->stack[depth - 1].owner != (uintptr_t)record
        || tree->stack[depth - 1].flags != FD_ENTRY_OP) {
        return;
    }
    fd_operand_list inputs = fd_operands_of(record);
    uint32_t group = group_of(thread->session, inputs);
    uint64_t sent = bytes_at(inputs, what->sent);
    uint64_t received = bytes_at(inputs, what->received);
    fd_latest_call call = {
        .detail = type_text(thread, what, inputs, group),
        .bytes = sent > received ? sent : received,
        .async = is_async(inputs),
    };
    if (!what->message && group != 0) {
        add_collective(thread, &call, group);
    }
    fd_measure_key key = {.context = fd_tree_id(tree, tree->current),
                          .kind = FD_MEASURE_COMM,
                          .flags = call.async ? FD_MEASURE_ASYNC : 0,
                          .detail = call.detail};
    fd_measure_add(fd_measures_at(tree, key), sent, received);
    tree->measures.communicated += call.bytes;
}
