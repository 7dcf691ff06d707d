#include "et/et_names.h"
#include "et/et_steps.h"

#include <string.h>

/* Maximum distance of a communication from its call, in levels. */
enum { MOST_ABOVE = 8 };

static const char process_group[] = "process_group:init";

static int64_t
attr_number(const fd_et *et, const fd_et_node *node, const char *name)
{
    const fd_et_attr *attr = fd_et_attr_of(et, node, name);
    return attr != NULL && attr->text == 0 ? (int64_t)attr->number : -1;
}

static fd_span
text_span(const fd_et *et, uint32_t id)
{
    return fd_text_pool_span(&et->texts, id);
}

/* Find the n-th value of a list; return false beyond its end. */
static bool
list_item(fd_span list, uint32_t n, fd_span *item)
{
    fd_scan scan = {.at = list.from, .end = list.to, .forgets = true};
    fd_scan_result result = fd_scan_mark(&scan, '[');
    for (uint32_t i = 0; i <= n && result == FD_SCAN_OK; i++) {
        result = fd_scan_element(&scan, i == 0, item);
    }
    return result == FD_SCAN_OK;
}

static bool
item_number(fd_span list, uint32_t n, int32_t *number)
{
    fd_span item;
    uint64_t value;
    if (!list_item(list, n, &item) || !fd_span_u64(item, &value)
        || value > INT32_MAX) {
        return false;
    }
    *number = (int32_t)value;
    return true;
}

/* Return the position of the rank among the arguments of a c10d call; 0: no
 * such argument. */
static uint32_t
place_of_rank(const char *name)
{
    static const struct {
        const char *name;
        uint32_t index;
    } calls[] = {{"c10d::send", 2},       {"c10d::recv_", 2},
                 {"c10d::broadcast_", 2}, {"c10d::reduce_", 3},
                 {"c10d::gather_", 3},    {"c10d::scatter_", 3}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(name, calls[i].name) == 0) {
            return calls[i].index;
        }
    }
    return 0;
}

static void
set_peer(fd_et_comm *comm, fd_et_type type, int32_t peer)
{
    if (type == FD_ET_SEND) {
        comm->dst = comm->dst < 0 ? peer : comm->dst;
    }
    else {
        comm->src = comm->src < 0 ? peer : comm->src;
    }
}

/* Read the facts of a call of c10d. */
static void
read_call(const fd_et *et, const fd_et_node *call, fd_et_type type,
          fd_et_comm *comm)
{
    fd_span values = text_span(et, call->in.values);
    uint32_t index = place_of_rank(fd_et_text(et, call->name));
    int32_t number;
    if (index != 0 && item_number(values, index, &number)) {
        set_peer(comm, type, number);
        if ((type == FD_ET_SEND || type == FD_ET_RECV)
            && item_number(values, index + 1, &number)) {
            comm->tag = comm->tag < 0 ? number : comm->tag;
        }
    }
}

/* Read the arguments of record_param_comms: (tensors,) seq, (group,
 * description), rank, name, ...; positions are counted from the group. */
static void
read_params(fd_et *et, const fd_et_node *node, fd_et_type type,
            fd_et_comm *comm)
{
    fd_span values = text_span(et, node->in.values);
    fd_span types = text_span(et, node->in.types);
    fd_span type_name;
    fd_span pair;
    fd_span name;
    for (uint32_t i = 0; list_item(types, i, &type_name); i++) {
        if (!fd_span_is(fd_span_inside(type_name), "Tuple[String,String]")
            || !list_item(values, i, &pair) || !list_item(pair, 0, &name)) {
            continue;
        }
        name = fd_span_inside(name);
        int32_t number;
        if (item_number(values, i + 1, &number)
            && (type == FD_ET_SEND || type == FD_ET_RECV)) {
            set_peer(comm, type, number);
        }
        /* Adding a text moves the texts of the pool. */
        char copy[256];
        size_t size = fd_span_size(name);
        if (comm->group == 0 && size < sizeof copy) {
            memcpy(copy, name.from, size);
            comm->group = fd_et_add_text(et, (fd_span){copy, copy + size});
            return;
        }
    }
}

static void
read_attrs(const fd_et *et, const fd_et_node *node, fd_et_comm *comm)
{
    for (uint32_t i = 0; i < node->attr_count; i++) {
        const fd_et_attr *attr = &et->attrs.list[node->attrs + i];
        const char *name = fd_et_text(et, attr->name);
        bool group = strcmp(name, "pg_name") == 0;
        if (group || strcmp(name, "dtype") == 0) {
            uint32_t *to = group ? &comm->group : &comm->dtype;
            *to = *to == 0 ? attr->text : *to;
        }
    }
    int64_t elements = attr_number(et, node, "in_msg_nelems");
    uint32_t item = fd_et_item_size(et, comm->dtype);
    if (comm->bytes < 0 && elements >= 0 && item > 0
        && elements < INT64_MAX / 64) {
        comm->bytes = elements * item;
    }
}

/* Read the facts of a communication from its node or a node around it. */
static void
read_node(fd_et *et, uint32_t index, fd_et_type type, fd_et_comm *comm)
{
    const fd_et_node *node = &et->nodes.list[index];
    uint64_t bytes;
    read_attrs(et, node, comm);
    if (strcmp(fd_et_text(et, node->name), "record_param_comms") == 0) {
        read_params(et, node, type, comm);
    }
    read_call(et, node, type, comm);
    /* The device of a barrier follows from its operands. */
    if (comm->bytes < 0 && comm->type != FD_ET_BARRIER
        && fd_et_tensor_bytes(text_span(et, node->in.values), &bytes)
        && bytes <= INT64_MAX) {
        comm->bytes = (int64_t)bytes;
    }
}

static fd_et_comm_level
level_of(const fd_et *et, uint32_t index)
{
    return fd_et_comm_level_of(fd_et_text(et, et->nodes.list[index].name),
                               false);
}

/* Return the reference of the communication call around a node; 0: no call.
 * The parent of a call in PyTorch is any open call of its thread, even the
 * previous one. */
static uint32_t
comm_around(const fd_et *et, uint32_t index)
{
    static const char calls[] = "c10d::";
    uint32_t parent = et->nodes.list[index].parent;
    if (parent == 0 || level_of(et, parent - 1) == FD_ET_NO_COMM) {
        return 0;
    }
    const char *inner = fd_et_text(et, et->nodes.list[index].name);
    const char *outer = fd_et_text(et, et->nodes.list[parent - 1].name);
    bool apart = strncmp(inner, calls, sizeof calls - 1) == 0
              && strncmp(outer, calls, sizeof calls - 1) == 0;
    return apart ? 0 : parent;
}

/* Return whether `call`, a reference, is one of the communication calls around
 * a node. */
static bool
is_around(const fd_et *et, uint32_t call, uint32_t index)
{
    uint32_t at = index + 1;
    for (int i = 0; i < MOST_ABOVE && at != 0 && at != call; i++) {
        at = comm_around(et, at - 1);
    }
    return at == call;
}

/* Return the kind of a communication: by its own name, otherwise by the names
 * of the nodes around it; a kernel of sends and receives has the kind of its
 * call. */
static fd_et_type
kind_of(const fd_et *et, uint32_t index, int32_t *coll)
{
    fd_et_type type = FD_ET_COMP;
    const fd_et_node *node = &et->nodes.list[index];
    *coll = -1;
    for (int i = 0; i < MOST_ABOVE; i++) {
        const char *name = fd_et_attr_text(et, node, "collective_name");
        fd_et_type found =
            name[0] != '\0' ? fd_et_comm_type(name, coll) : FD_ET_COMP;
        if (found == FD_ET_COMP) {
            found = fd_et_comm_type(fd_et_text(et, node->name), coll);
        }
        /* The first node that states a kind is used; "SendRecv" states
         * none. */
        if (found == FD_ET_SEND || found == FD_ET_RECV || *coll >= 0) {
            return found;
        }
        type = found != FD_ET_COMP ? found : type;
        if (node->parent == 0) {
            break;
        }
        if (level_of(et, node->parent - 1) == FD_ET_NO_COMM) {
            break;
        }
        node = &et->nodes.list[node->parent - 1];
    }
    return type;
}

/* Convert peers from ranks in the group to global ranks. */
static void
find_peer(const fd_et *et, fd_et_type type, fd_et_comm *comm)
{
    int32_t *peer = type == FD_ET_SEND ? &comm->dst : &comm->src;
    for (uint32_t i = 0;
         type != FD_ET_COLL && *peer >= 0 && i < et->groups.count; i++) {
        const fd_et_group *group = &et->groups.list[i];
        int32_t rank;
        if (group->name == comm->group
            && item_number(text_span(et, group->ranks), (uint32_t)*peer,
                           &rank)) {
            *peer = rank;
            return;
        }
    }
}

/* Collect the facts about a communication from its node and the calls around
 * it, up to the call that started it (`call`, a reference). */
static void
read_around(fd_et *et, uint32_t index, uint32_t call, fd_et_type type,
            fd_et_comm *comm)
{
    bool around = call == 0 || is_around(et, call, index);
    read_node(et, index, type, comm);
    uint32_t at = index + 1;
    for (int i = 0; i < MOST_ABOVE && around; i++) {
        at = at == call ? 0 : comm_around(et, at - 1);
        if (at == 0) {
            return;
        }
        read_node(et, at - 1, type, comm);
    }
    if (!around) {
        read_node(et, call - 1, type, comm);
    }
}

static void
describe_call(fd_et *et, uint32_t index, uint32_t call)
{
    int32_t coll;
    fd_et_type type = kind_of(et, index, &coll);
    if (type == FD_ET_COMP) {
        return;
    }
    et->nodes.list[index].type = (uint8_t)type;
    fd_et_comm comm = *fd_et_make_comm(et, index);
    comm.type = coll;
    et->faults.collectives_unknown += type == FD_ET_COLL && coll < 0;
    read_around(et, index, call, type, &comm);
    if (comm.group == 0 && et->groups.count == 1) {
        comm.group = et->groups.list[0].name;
    }
    find_peer(et, type, &comm);
    et->comms.list[et->nodes.list[index].comm - 1] = comm;
}

/* The nodes that may communicate, and the level that describes each of
 * them. */
typedef struct finding {
    fd_et *et;
    uint8_t *levels; /* FD_ET_NO_COMM: described by another node */
    uint8_t *claims; /* the highest level that a node contains */
} finding;

/* Mark a communication as described by its innermost node, not by the calls
 * around it up to `call`, a reference (0: unknown). */
static void
claim_call(finding *f, uint32_t index, uint32_t call, uint8_t level)
{
    uint32_t at = index + 1;
    for (int i = 0; i < MOST_ABOVE && at != 0; i++) {
        f->levels[at - 1] = FD_ET_NO_COMM;
        f->claims[at - 1] =
            level > f->claims[at - 1] ? level : f->claims[at - 1];
        at = call != 0 && !is_around(f->et, call, at - 1)
               ? 0
               : comm_around(f->et, at - 1);
    }
}

/* Return whether a call around a node contains a node of a higher level. */
static bool
is_claimed(const finding *f, uint32_t index, uint8_t level)
{
    uint32_t at = index + 1;
    for (int i = 0; i < MOST_ABOVE && at != 0; i++) {
        if (f->claims[at - 1] > level) {
            return true;
        }
        at = comm_around(f->et, at - 1);
    }
    return false;
}

/* Return whether the first tensor of the work, if any, is an operand of the
 * call. The operands of a call include receive buffers as well as send
 * buffers. */
static bool
may_start(const fd_et *et, const fd_et_node *call, const fd_et_node *work)
{
    fd_et_tensor mine;
    fd_et_tensor its;
    fd_span values = text_span(et, work->in.values);
    if (!fd_et_next_tensor(&values, &mine)) {
        return true;
    }
    values = text_span(et, call->in.values);
    while (fd_et_next_tensor(&values, &its)) {
        if (its.storage == mine.storage) {
            return true;
        }
    }
    return false;
}

/* Return the reference of the innermost c10d call around work; 0: no call. */
static uint32_t
call_around(const fd_et *et, uint32_t index)
{
    uint32_t at = comm_around(et, index);
    for (int i = 0; i < MOST_ABOVE && at != 0; i++) {
        if (level_of(et, at - 1) == FD_ET_COMM_CALL) {
            return at;
        }
        at = comm_around(et, at - 1);
    }
    return 0;
}

/* Return the reference of the call that started work: the last earlier one
 * with the same kind and tensors and without work, otherwise the enclosing
 * call; 0: no call. */
static uint32_t
call_of(const finding *f, uint32_t index)
{
    enum { FARTHEST = 4096 };
    const fd_et *et = f->et;
    const fd_et_node *work = &et->nodes.list[index];
    uint32_t around = call_around(et, index);
    int32_t coll;
    int32_t its_coll;
    fd_et_type type = fd_et_comm_type(fd_et_text(et, work->name), &coll);
    for (uint32_t i = index, steps = 0; i-- > 0 && steps < FARTHEST; steps++) {
        const fd_et_node *call = &et->nodes.list[i];
        if ((f->levels[i] == FD_ET_COMM_CALL || i + 1 == around)
            && fd_et_comm_type(fd_et_text(et, call->name), &its_coll) == type
            && its_coll == coll && may_start(et, call, work)) {
            return i + 1;
        }
    }
    return around;
}

/* Describe the communication of one level. Levels are processed from kernels
 * down, so that every communication is counted once. */
static void
describe_level(finding *f, uint8_t level)
{
    fd_et *et = f->et;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        if (f->levels[i] != level || is_claimed(f, i, level)) {
            continue;
        }
        uint32_t call = level == FD_ET_COMM_WORK ? call_of(f, i) : 0;
        describe_call(et, i, call);
        claim_call(f, i, call, level);
        if (call != 0) {
            claim_call(f, call - 1, 0, level);
            fd_et_add_edge(et, call - 1, i, FD_ET_LAUNCH);
        }
    }
}

static void
find_levels(finding *f)
{
    for (uint32_t i = 0; i < f->et->nodes.count; i++) {
        fd_et_node *node = &f->et->nodes.list[i];
        const char *name = fd_et_text(f->et, node->name);
        if ((node->flags & FD_ET_WRITTEN) != 0) {
            continue;
        }
        bool head = (node->flags & FD_ET_PROCESS) != 0
                 || strstr(name, process_group) != NULL;
        node->type = head ? FD_ET_METADATA : FD_ET_COMP;
        f->levels[i] =
            (uint8_t)fd_et_comm_level_of(name, (node->flags & FD_ET_GPU) != 0);
    }
}

void
fd_et_find_comms(fd_et *et)
{
    size_t capacity = (size_t)et->nodes.count + 1;
    finding f = {et, fd_arena_new(&et->arena, capacity, 1),
                 fd_arena_new(&et->arena, capacity, 1)};
    find_levels(&f);
    for (uint8_t level = FD_ET_COMM_KERNEL; level > FD_ET_NO_COMM; level--) {
        describe_level(&f, level);
    }
    fd_arena_drop(f.levels);
    fd_arena_drop(f.claims);
}
