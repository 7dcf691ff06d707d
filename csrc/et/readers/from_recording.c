#include "et/readers/from_recording.h"

#include "base/rows.h"
#include "et/et_times.h"
#include "et/process_group_table.h"
#include "et/readers/gpu_kernels.h"
#include "et/readers/operand_json.h"
#include "et/readers/recording_head.h"
#include "trace/reader/file_chunks.h"

#include <stdio.h>
#include <string.h>

typedef enum event { BEGIN, LAUNCH, END } event;

/* The start of a call, a launch, or the end of a call. */
typedef struct moment {
    uint64_t tick;
    uint32_t call;
    uint32_t kernel; /* launched work */
    event what;
} moment;

/* The root above the calls of a thread. */
typedef struct root {
    uint64_t id;
    uint32_t thread; /* number of the record of the thread */
    uint32_t torch_thread;
} root;

typedef struct making {
    fd_et *et;
    fd_chunks file;
    fd_et_calls calls; /* sorted by start */
    fd_et_kernels kernels;
    FD_VECTOR(moment) moments; /* sorted by time */
    fd_et_identities identities;
    uint32_t *tensor_ids;         /* owned; id by number of the tensor */
    uint32_t *storage_ids;        /* owned; id by number of the storage */
    FD_VECTOR(uint32_t) in_ids;   /* ids of the tensors in calls ... */
    FD_VECTOR(uint32_t) of_ids;   /* ... and of their storages */
    FD_VECTOR(uint64_t) node_ids; /* ids of the calls */
    fd_map indexes;               /* id of a record -> index of the call + 1 */
    FD_VECTOR(root) roots;
    fd_map threads; /* record of a thread + 1 -> index of its root + 1 */
    fd_map forward; /* thread and autograd's number -> id of a node */
    fd_map schemas; /* string of the file -> string of the file */
    uint64_t next;  /* next unused id */
    double ns_per_tick;
    bool layers; /* include forwards of modules; write operands as facts */
} making;

FD_ORDER_AS(by_start, fd_tensor_call, FD_UP(raw->start), FD_UP(raw))

FD_ORDER_BY(by_tick, moment, tick, call, what)

static fd_status
find_calls(making *m)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->file.list.count; i++) {
        const fd_chunk_view *view = &m->file.list.list[i];
        const fd_op_call *raw = view->records;
        if (view->header.kind != FD_CHUNK_OP_CALLS) {
            continue;
        }
        for (uint32_t j = 0; j < view->used && status == FD_OK; j++) {
            if ((raw[j].flags & FD_OP_CALL_MODULE) != 0 && !m->layers) {
                continue;
            }
            fd_tensor_call call = {
                .raw = &raw[j],
                .in = fd_words_at(&m->file, raw[j].inputs, raw[j].input_words),
                .end = UINT32_MAX,
            };
            if ((raw[j].flags & FD_OP_CALL_OPEN) == 0) {
                call.out =
                    fd_words_at(&m->file, raw[j].outputs, raw[j].output_words);
            }
            status = fd_vector_push(&m->calls, call);
        }
    }
    fd_vector_sort(&m->calls, by_start);
    return status;
}

/* Return the index + 1 of the nearest enclosing call that is a node; 0: no
 * such call. */
static uint32_t
enclosing_node(const making *m, uint32_t parent)
{
    enum { DEEPEST = 1024 };
    uint32_t index = fd_map_get(&m->indexes, parent);
    for (int i = 0; index == 0 && parent != 0 && i < DEEPEST; i++) {
        const fd_op_call *raw =
            fd_chunks_record(&m->file, FD_CHUNK_OP_CALLS, parent);
        parent = raw != NULL && (raw->flags & FD_OP_CALL_MODULE) != 0
                   ? raw->parent
                   : 0;
        index = fd_map_get(&m->indexes, parent);
    }
    return parent != 0 ? index : 0;
}

static fd_status
find_launches(making *m)
{
    fd_status status =
        m->layers ? FD_OK : fd_et_find_kernels(&m->calls, &m->kernels);
    for (uint32_t i = 0; i < m->kernels.count && status == FD_OK; i++) {
        fd_et_kernel *kernel = &m->kernels.list[i];
        const fd_op_call *raw = m->calls.list[kernel->call].raw;
        if (kernel->launch < raw->start) { /* the file is damaged */
            kernel->launch = raw->start;
        }
        status = fd_vector_push(
            &m->moments, (moment){kernel->launch, kernel->call, i, LAUNCH});
    }
    return status;
}

/* List the moments. Unfinished calls have no outputs and no end. */
static fd_status
find_moments(making *m)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->calls.count && status == FD_OK; i++) {
        const fd_op_call *raw = m->calls.list[i].raw;
        uint64_t id = (uint64_t)((const char *)raw - m->file.base);
        status = fd_map_put(&m->indexes, id / FD_ID_UNIT, i + 1);
        if (status == FD_OK) {
            status =
                fd_vector_push(&m->moments, (moment){raw->start, i, 0, BEGIN});
        }
        if (status == FD_OK && (raw->flags & FD_OP_CALL_OPEN) == 0) {
            status = fd_vector_push(
                &m->moments, (moment){raw->start + raw->ticks, i, 0, END});
        }
    }
    for (uint32_t i = 0; i < m->calls.count; i++) {
        m->calls.list[i].parent =
            enclosing_node(m, m->calls.list[i].raw->parent);
    }
    fd_then(status, find_launches(m));
    fd_vector_sort(&m->moments, by_tick);
    for (uint32_t i = 0; i < m->moments.count && status == FD_OK; i++) {
        const moment *at = &m->moments.list[i];
        fd_tensor_call *call = &m->calls.list[at->call];
        if (at->what != LAUNCH) {
            *(at->what == END ? &call->end : &call->begin) = i;
        }
    }
    return status;
}

static fd_status
find_schemas(making *m)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->file.list.count; i++) {
        const fd_chunk_view *view = &m->file.list.list[i];
        const fd_schema *schema = view->records;
        if (view->header.kind != FD_CHUNK_SCHEMAS) {
            continue;
        }
        for (uint32_t j = 0; j < view->used && status == FD_OK; j++) {
            if (schema[j].name != 0) {
                status =
                    fd_map_put(&m->schemas, schema[j].name, schema[j].text);
            }
        }
    }
    return status;
}

static void
give_ids(making *m, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        uint32_t tensor = m->identities.tensors.list[i];
        uint32_t storage = m->identities.storages.list[i];
        if (tensor != 0 && m->tensor_ids[tensor] == 0) {
            m->tensor_ids[tensor] = (uint32_t)m->next++;
        }
        if (storage != 0 && m->storage_ids[storage] == 0) {
            m->storage_ids[storage] = (uint32_t)m->next++;
        }
        m->in_ids.list[i] = m->tensor_ids[tensor];
        m->of_ids.list[i] = m->storage_ids[storage];
    }
}

/* Set the root and thread of a call. PyTorch's thread number is not used,
 * since work of a backend (gloo) has the number of the requesting thread. */
static fd_status
give_thread(making *m, const fd_op_call *raw)
{
    uint32_t before = m->roots.count;
    root added = {m->next, raw->thread, raw->torch_thread};
    root *of =
        fd_row(&m->roots, &m->threads, (uint64_t)raw->thread + 1, &added);
    m->next += m->roots.count - before;
    return of != NULL ? FD_OK : FD_ENOMEM;
}

static uint64_t
root_of(const making *m, const fd_op_call *raw)
{
    uint32_t index = fd_map_get(&m->threads, (uint64_t)raw->thread + 1);
    return m->roots.list[index - 1].id;
}

static fd_status
number_all(making *m)
{
    uint32_t tensors = m->identities.tensors.count;
    m->tensor_ids =
        fd_calloc(m->identities.tensor_count + 1, sizeof *m->tensor_ids);
    m->storage_ids =
        fd_calloc(m->identities.storage_count + 1, sizeof *m->storage_ids);
    if (m->tensor_ids == NULL || m->storage_ids == NULL
        || fd_vector_reserve(&m->in_ids, tensors) != FD_OK
        || fd_vector_reserve(&m->of_ids, tensors) != FD_OK
        || fd_vector_reserve(&m->node_ids, m->calls.count) != FD_OK) {
        return FD_ENOMEM;
    }
    fd_status status = FD_OK;
    m->next = 2;
    for (uint32_t i = 0; i < m->moments.count && status == FD_OK; i++) {
        const moment *at = &m->moments.list[i];
        const fd_tensor_call *call = &m->calls.list[at->call];
        uint32_t last =
            at->call + 1 < m->calls.count ? call[1].first : tensors;
        if (at->what == LAUNCH) {
            m->kernels.list[at->kernel].id = m->next++;
            continue;
        }
        if (at->what == END) {
            give_ids(m, call->outs, last);
            continue;
        }
        status = give_thread(m, call->raw);
        give_ids(m, call->first, call->outs);
        m->node_ids.list[at->call] = m->next++;
    }
    return status;
}

/* Set the name: the part before the overload, or the first operand. */
static fd_status
put_name(making *m, fd_tensor_call *call, fd_et_node *node)
{
    const fd_string *name = fd_chunks_string(&m->file, call->raw->schema);
    fd_operand first;
    if (call->raw->schema == 0) {
        bool good =
            fd_words_next(&call->in, &first) && first.kind == FD_OPERAND_TEXT;
        return fd_text_pool_add_clean(&m->et->texts,
                                      good ? (const char *)first.more : "",
                                      good ? first.number : 0, &node->name);
    }
    if (name == NULL) {
        return FD_OK;
    }
    const char *dot = memchr(name->bytes, '.', name->size);
    fd_status status = fd_text_pool_add_clean(
        &m->et->texts, name->bytes,
        dot == NULL ? name->size : (size_t)(dot - name->bytes), &node->name);
    const fd_string *schema =
        fd_chunks_string(&m->file, fd_map_get(&m->schemas, call->raw->schema));
    return status == FD_OK && schema != NULL ? fd_text_pool_add_clean(
               &m->et->texts, schema->bytes, schema->size, &node->schema)
                                             : status;
}

static int64_t
ns_of(const making *m, uint64_t tick)
{
    const fd_file_anchor *start = &fd_chunks_header(&m->file)->start;
    double since = tick > start->ticks
                     ? (double)(tick - start->ticks) * m->ns_per_tick
                     : 0;
    /* A damaged file can contain any values. */
    return (int64_t)(start->realtime_ns & INT64_MAX >> 1)
         + (since < 0x1p62 ? (int64_t)since : 0);
}

/* Set the forward operator of an autograd node, found by autograd's sequence
 * number and the thread; the innermost one is used. */
static fd_status
put_forward(making *m, fd_et_node *node)
{
    if (node->seq < 0) {
        return FD_OK;
    }
    bool backward = node->scope == 1;
    uint64_t thread = backward ? node->fw_tid : node->tid;
    uint64_t key = (thread << 48 ^ (uint64_t)node->seq) + 1;
    if (backward) {
        node->fw_parent = fd_map_get(&m->forward, key);
        return FD_OK;
    }
    return node->schema == 0 || key == 0
             ? FD_OK
             : fd_map_put(&m->forward, key, (uint32_t)node->id);
}

/* Return the operating system's number of a thread; 0: unknown. */
static uint64_t
system_thread(const making *m, uint32_t record)
{
    const fd_thread_record *thread =
        fd_chunks_record(&m->file, FD_CHUNK_THREADS, record);
    return thread != NULL ? thread->system_id : 0;
}

static void
put_numbers(making *m, const fd_tensor_call *call, fd_et_node *node)
{
    const fd_op_call *raw = call->raw;
    node->parent_id = call->parent != 0 ? m->node_ids.list[call->parent - 1]
                                        : root_of(m, raw);
    node->rf_id = raw->id;
    node->seq = raw->sequence < 0 ? -1 : raw->sequence;
    node->scope = (raw->flags & FD_OP_CALL_MODULE) != 0
                    ? FD_ET_SCOPE_MODULE
                    : (uint8_t)(raw->flags >> FD_OP_CALL_SCOPE_SHIFT);
    node->tid = raw->torch_thread;
    node->fw_tid = (uint32_t)raw->forward_thread;
    node->thread = system_thread(m, raw->thread);
    if ((raw->flags & FD_OP_CALL_OPEN) == 0) {
        node->flags |= FD_ET_TIMED;
        node->start_ns = ns_of(m, raw->start);
        node->dur_ns = ns_of(m, raw->start + raw->ticks) - node->start_ns;
    }
}

static fd_operand_ids
ids_from(const making *m, uint32_t slot)
{
    return (fd_operand_ids){m->in_ids.list + slot, m->of_ids.list + slot};
}

static fd_status
put_side(making *m, fd_words words, fd_operand_ids ids, fd_et_io *io)
{
    return m->layers ? fd_et_put_facts(m->et, words, ids, &io->values)
                     : fd_et_put_operands(m->et, words, ids, io);
}

static fd_status
put_call(making *m, uint32_t index)
{
    fd_tensor_call *call = &m->calls.list[index];
    fd_et_node *node = fd_et_add(m->et);
    if (node == NULL) {
        return FD_ENOMEM;
    }
    node->id = m->node_ids.list[index];
    put_numbers(m, call, node);
    fd_status status = put_name(m, call, node);
    fd_then(status, put_forward(m, node));
    fd_then(status,
            put_side(m, call->in, ids_from(m, call->first), &node->in));
    return fd_then(
        status, put_side(m, call->out, ids_from(m, call->outs), &node->out));
}

/* Set the groups of calls, once groups have their final names. `first` is the
 * index of the first call. */
static fd_status
put_groups(making *m, uint32_t first)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->calls.count && status == FD_OK; i++) {
        status = fd_et_give_group(m->et, &m->et->nodes.list[first + i],
                                  m->calls.list[i].in);
    }
    return status;
}

static fd_status
put_calls(making *m)
{
    uint32_t first = m->et->nodes.count;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->calls.count && status == FD_OK; i++) {
        status = put_call(m, i);
    }
    if (status == FD_OK && !m->layers) {
        status = put_groups(m, first);
    }
    for (uint32_t i = 0; i < m->kernels.count && status == FD_OK; i++) {
        const fd_et_kernel *kernel = &m->kernels.list[i];
        fd_et_kernel_times times = {ns_of(m, kernel->launch),
                                    ns_of(m, kernel->start),
                                    ns_of(m, kernel->end)};
        status = fd_et_put_kernel(m->et, kernel, first + kernel->call, times);
    }
    return status;
}

/* Add the root of a thread; NULL: of the process. */
static fd_status
put_root(making *m, const root *thread)
{
    char name[64];
    fd_et_node *node = fd_et_add(m->et);
    if (node == NULL) {
        return FD_ENOMEM;
    }
    node->id = thread == NULL ? 1 : thread->id;
    node->parent_id = 1;
    node->seq = -1;
    node->scope = 7;
    node->flags = thread == NULL ? FD_ET_PROCESS : FD_ET_THREAD;
    if (thread != NULL) {
        node->tid = thread->torch_thread;
        node->thread = system_thread(m, thread->thread);
    }
    int size =
        snprintf(name, sizeof name, "[pytorch|profiler|execution_trace|%s]",
                 thread == NULL ? "process" : "thread");
    return fd_text_pool_add_clean(&m->et->texts, name, (size_t)size,
                                  &node->name);
}

static fd_status
put_roots(making *m)
{
    fd_status status = put_root(m, NULL);
    for (uint32_t i = 0; i < m->roots.count && status == FD_OK; i++) {
        status = put_root(m, &m->roots.list[i]);
    }
    return status;
}

static fd_status
make_graph(making *m)
{
    fd_status status = find_moments(m);
    fd_then(status, find_schemas(m));
    fd_then(status, fd_et_identify(&m->calls, &m->identities));
    fd_then(status, number_all(m));
    fd_then(status, fd_et_put_recording_head(m->et, &m->file));
    fd_then(status, put_roots(m));
    fd_then(status, put_calls(m));
    fd_then(status, fd_et_finish(m->et));
    if (status == FD_OK) {
        fd_et_find_self(m->et);
    }
    return status;
}

static void
clear_making(making *m)
{
    fd_et_identities_clear(&m->identities);
    fd_vector_clear(&m->calls);
    fd_vector_clear(&m->kernels);
    fd_vector_clear(&m->moments);
    fd_vector_clear(&m->in_ids);
    fd_vector_clear(&m->of_ids);
    fd_vector_clear(&m->node_ids);
    fd_free(m->tensor_ids);
    fd_free(m->storage_ids);
    fd_map_clear(&m->indexes);
    fd_vector_clear(&m->roots);
    fd_map_clear(&m->threads);
    fd_map_clear(&m->forward);
    fd_map_clear(&m->schemas);
}

fd_status
fd_et_from_recording(fd_et *et, const char *path, bool layers, fd_error *error)
{
    making m = {.et = et, .layers = layers};
    *et = (fd_et){.rank = -1, .unlinked = true};
    fd_status status = fd_chunks_open(&m.file, path, FD_CHUNKS_ALL, error);
    if (status != FD_OK) {
        return status;
    }
    double hertz = fd_chunks_header(&m.file)->hertz;
    m.ns_per_tick = hertz > 0 ? 1e9 / hertz : 1;
    status = find_calls(&m);
    if (status == FD_OK) {
        status = m.calls.count > 0
                   ? make_graph(&m)
                   : fd_fail(error, FD_EFORMAT,
                             "%s: no operators for execution traces%s", path,
                             m.file.truncated || m.file.damaged > 0
                                 ? " in the readable part: it is cut "
                                   "short or damaged"
                                 : ": record with CallGraph(et=True)");
    }
    clear_making(&m);
    fd_chunks_close(&m.file);
    return status;
}
