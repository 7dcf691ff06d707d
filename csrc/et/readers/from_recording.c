#include "et/et_file.h"
#include "et/et_steps.h"
#include "et/process_group_table.h"
#include "et/readers/gpu_kernels.h"
#include "trace/reader/file_chunks.h"

#include <string.h>
#include <time.h>

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
    fd_arena *scratch;
    fd_chunks *file;
    fd_et_calls calls; /* sorted by start */
    fd_et_kernels kernels;
    FD_VECTOR(moment) moments; /* sorted by time */
    fd_et_identities identities;
    uint32_t *tensor_ids;  /* id by number of the tensor */
    uint32_t *storage_ids; /* id by number of the storage */
    uint32_t *in_ids;      /* ids of the tensors in calls ... */
    uint32_t *of_ids;      /* ... and of their storages */
    uint64_t *node_ids;    /* ids of the calls */
    fd_map *indexes;       /* id of a record -> index of the call + 1 */
    FD_VECTOR(root) roots;
    fd_map *threads; /* record of a thread + 1 -> index of its root + 1 */
    fd_map *forward; /* thread and autograd's number -> id of a node */
    fd_map *schemas; /* string of the file -> string of the file */
    uint64_t next;   /* next unused id */
    double ns_per_tick;
    bool layers; /* include forwards of modules; with more facts of operands */
} making;

FD_ORDER_AS(by_start, fd_tensor_call, FD_UP(raw->start), FD_UP(raw))

FD_ORDER_BY(by_tick, moment, tick, call, what)

static fd_span
string_span(const fd_string *string)
{
    return (fd_span){string->bytes, string->bytes + string->size};
}

static void
find_calls(making *m)
{
    FOR_EACH_RECORD_OF (m->file, FD_CHUNK_OP_CALLS, fd_op_call, raw) {
        if ((raw->flags & FD_OP_CALL_MODULE) != 0 && !m->layers) {
            continue;
        }
        fd_tensor_call call = {
            .raw = raw,
            .in = fd_words_at(m->file, raw->inputs, raw->input_words),
            .end = UINT32_MAX,
        };
        if ((raw->flags & FD_OP_CALL_OPEN) == 0) {
            call.out = fd_words_at(m->file, raw->outputs, raw->output_words);
        }
        fd_arena_push(m->scratch, &m->calls, call);
    }
    fd_vector_sort(&m->calls, by_start);
}

/* Return the index + 1 of the nearest enclosing call that is a node; 0: no
 * such call. */
static uint32_t
enclosing_node(const making *m, uint32_t parent)
{
    enum { DEEPEST = 1024 };
    uint32_t index = fd_map_get(m->indexes, parent);
    for (int i = 0; index == 0 && parent != 0 && i < DEEPEST; i++) {
        const fd_op_call *raw =
            fd_chunks_record(m->file, FD_CHUNK_OP_CALLS, parent);
        parent = raw != NULL && (raw->flags & FD_OP_CALL_MODULE) != 0
                   ? raw->parent
                   : 0;
        index = fd_map_get(m->indexes, parent);
    }
    return parent != 0 ? index : 0;
}

static void
find_launches(making *m)
{
    if (!m->layers) {
        fd_et_find_kernels(m->scratch, &m->calls, &m->kernels);
    }
    for (uint32_t i = 0; i < m->kernels.count; i++) {
        fd_et_kernel *kernel = &m->kernels.list[i];
        const fd_op_call *raw = m->calls.list[kernel->call].raw;
        if (kernel->launch < raw->start) { /* the file is damaged */
            kernel->launch = raw->start;
        }
        fd_arena_push(m->scratch, &m->moments,
                      (moment){kernel->launch, kernel->call, i, LAUNCH});
    }
}

/* List the moments. Unfinished calls have no outputs and no end. */
static void
find_moments(making *m)
{
    for (uint32_t i = 0; i < m->calls.count; i++) {
        const fd_op_call *raw = m->calls.list[i].raw;
        uint64_t id = (uint64_t)((const char *)raw - m->file->base);
        fd_arena_put(m->scratch, m->indexes, id / FD_ID_UNIT, i + 1);
        fd_arena_push(m->scratch, &m->moments,
                      (moment){raw->start, i, 0, BEGIN});
        if ((raw->flags & FD_OP_CALL_OPEN) == 0) {
            fd_arena_push(m->scratch, &m->moments,
                          (moment){raw->start + raw->ticks, i, 0, END});
        }
    }
    for (uint32_t i = 0; i < m->calls.count; i++) {
        m->calls.list[i].parent =
            enclosing_node(m, m->calls.list[i].raw->parent);
    }
    find_launches(m);
    fd_vector_sort(&m->moments, by_tick);
    for (uint32_t i = 0; i < m->moments.count; i++) {
        const moment *at = &m->moments.list[i];
        fd_tensor_call *call = &m->calls.list[at->call];
        if (at->what != LAUNCH) {
            *(at->what == END ? &call->end : &call->begin) = i;
        }
    }
}

static void
find_schemas(making *m)
{
    FOR_EACH_RECORD_OF (m->file, FD_CHUNK_SCHEMAS, fd_schema, schema) {
        if (schema->name != 0) {
            fd_arena_put(m->scratch, m->schemas, schema->name, schema->text);
        }
    }
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
        m->in_ids[i] = m->tensor_ids[tensor];
        m->of_ids[i] = m->storage_ids[storage];
    }
}

/* Set the root and thread of a call. PyTorch's thread number is not used,
 * since work of a backend (gloo) has the number of the requesting thread. */
static void
give_thread(making *m, const fd_op_call *raw)
{
    uint64_t key = (uint64_t)raw->thread + 1;
    if (fd_map_get(m->threads, key) == 0) {
        root added = {m->next++, raw->thread, raw->torch_thread};
        fd_arena_push(m->scratch, &m->roots, added);
        fd_arena_put(m->scratch, m->threads, key, m->roots.count);
    }
}

static uint64_t
root_of(const making *m, const fd_op_call *raw)
{
    uint32_t index = fd_map_get(m->threads, (uint64_t)raw->thread + 1);
    return m->roots.list[index - 1].id;
}

static void
number_all(making *m)
{
    uint32_t tensors = m->identities.tensors.count;
    m->tensor_ids = fd_arena_new(m->scratch, m->identities.tensor_count + 1,
                                 sizeof *m->tensor_ids);
    m->storage_ids = fd_arena_new(m->scratch, m->identities.storage_count + 1,
                                  sizeof *m->storage_ids);
    m->in_ids = fd_arena_new(m->scratch, tensors, sizeof *m->in_ids);
    m->of_ids = fd_arena_new(m->scratch, tensors, sizeof *m->of_ids);
    m->node_ids =
        fd_arena_new(m->scratch, m->calls.count, sizeof *m->node_ids);
    m->next = 2;
    for (uint32_t i = 0; i < m->moments.count; i++) {
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
        give_thread(m, call->raw);
        give_ids(m, call->first, call->outs);
        m->node_ids[at->call] = m->next++;
    }
}

/* Set the name: the part before the overload, or the first operand. */
static void
put_name(making *m, fd_tensor_call *call, fd_et_node *node)
{
    const fd_string *name = fd_chunks_string(m->file, call->raw->schema);
    const fd_string *schema =
        fd_chunks_string(m->file, fd_map_get(m->schemas, call->raw->schema));
    fd_operand first;
    if (call->raw->schema != 0 && name != NULL) {
        const char *dot = memchr(name->bytes, '.', name->size);
        const char *end = dot != NULL ? dot : name->bytes + name->size;
        node->name = fd_et_add_text(m->et, (fd_span){name->bytes, end});
        node->schema =
            schema == NULL ? 0 : fd_et_add_text(m->et, string_span(schema));
    }
    else if (call->raw->schema == 0 && fd_words_next(&call->in, &first)
             && first.kind == FD_OPERAND_TEXT) {
        const char *text = (const char *)first.more;
        node->name =
            fd_et_add_text(m->et, (fd_span){text, text + first.number});
    }
}

static int64_t
ns_of(const making *m, uint64_t tick)
{
    const fd_file_anchor *start = &fd_chunks_header(m->file)->start;
    double since = tick > start->ticks
                     ? (double)(tick - start->ticks) * m->ns_per_tick
                     : 0;
    /* A damaged file can contain any values. */
    return (int64_t)(start->realtime_ns & INT64_MAX >> 1)
         + (since < 0x1p62 ? (int64_t)since : 0);
}

/* Set the forward operator of an autograd node, found by autograd's sequence
 * number and the thread; the innermost one is used. */
static void
put_forward(making *m, fd_et_node *node)
{
    if (node->seq < 0) {
        return;
    }
    bool backward = node->scope == 1;
    uint64_t thread = backward ? node->fw_tid : node->tid;
    uint64_t key = (thread << 48 ^ (uint64_t)node->seq) + 1;
    if (backward) {
        node->fw_parent = fd_map_get(m->forward, key);
        return;
    }
    if (node->schema != 0 && key != 0) {
        fd_arena_put(m->scratch, m->forward, key, (uint32_t)node->id);
    }
}

/* Return the operating system's number of a thread; 0: unknown. */
static uint64_t
system_thread(const making *m, uint32_t record)
{
    const fd_thread_record *thread =
        fd_chunks_record(m->file, FD_CHUNK_THREADS, record);
    return thread != NULL ? thread->system_id : 0;
}

static void
put_numbers(making *m, const fd_tensor_call *call, fd_et_node *node)
{
    const fd_op_call *raw = call->raw;
    node->parent_id =
        call->parent != 0 ? m->node_ids[call->parent - 1] : root_of(m, raw);
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
    return (fd_operand_ids){m->in_ids + slot, m->of_ids + slot};
}

static void
put_call(making *m, uint32_t index)
{
    fd_tensor_call *call = &m->calls.list[index];
    fd_et_node *node = fd_et_add(m->et);
    node->id = m->node_ids[index];
    put_numbers(m, call, node);
    put_name(m, call, node);
    put_forward(m, node);
    fd_et_put_operands(m->et, call->in, ids_from(m, call->first), m->layers,
                       &node->in);
    fd_et_put_operands(m->et, call->out, ids_from(m, call->outs), m->layers,
                       &node->out);
}

/* Set the groups of calls, once groups have their final names. `first` is the
 * index of the first call. */
static void
put_groups(making *m, uint32_t first)
{
    for (uint32_t i = 0; i < m->calls.count; i++) {
        fd_et_give_group(m->et, &m->et->nodes.list[first + i],
                         m->calls.list[i].in);
    }
}

static void
put_calls(making *m)
{
    uint32_t first = m->et->nodes.count;
    for (uint32_t i = 0; i < m->calls.count; i++) {
        put_call(m, i);
    }
    if (!m->layers) {
        put_groups(m, first);
    }
    for (uint32_t i = 0; i < m->kernels.count; i++) {
        fd_et_kernel kernel = m->kernels.list[i];
        kernel.launch = (uint64_t)ns_of(m, kernel.launch);
        kernel.start = (uint64_t)ns_of(m, kernel.start);
        kernel.end = (uint64_t)ns_of(m, kernel.end);
        fd_et_put_kernel(m->et, &kernel, first + kernel.call);
    }
}

/* Add the root of a thread; NULL: of the process. */
static void
put_root(making *m, const root *thread)
{
    fd_et_node *node = fd_et_add(m->et);
    node->id = thread == NULL ? 1 : thread->id;
    node->parent_id = 1;
    node->seq = -1;
    node->scope = 7;
    node->flags = thread == NULL ? FD_ET_PROCESS : FD_ET_THREAD;
    if (thread != NULL) {
        node->tid = thread->torch_thread;
        node->thread = system_thread(m, thread->thread);
    }
    node->name = fd_et_add_word(
        m->et, thread == NULL ? "[pytorch|profiler|execution_trace|process]"
                              : "[pytorch|profiler|execution_trace|thread]");
}

static void
put_roots(making *m)
{
    put_root(m, NULL);
    for (uint32_t i = 0; i < m->roots.count; i++) {
        put_root(m, &m->roots.list[i]);
    }
}

/* Return the last fact of this name. */
static const fd_string *
last_fact(const fd_chunks *file, const char *key)
{
    const fd_string *value = NULL;
    FOR_EACH_RECORD_OF (file, FD_CHUNK_META, fd_meta, meta) {
        const fd_string *name = fd_chunks_string(file, meta->key);
        if (name != NULL && fd_span_is(string_span(name), key)) {
            value = fd_chunks_string(file, meta->value);
        }
    }
    return value;
}

/* Set rank, world, host, times and process groups. */
static void
put_head(fd_et *et, const fd_chunks *file)
{
    const fd_header *header = fd_chunks_header(file);
    char text[32] = "";
    struct tm local;
    time_t seconds = (time_t)(header->start.realtime_ns / 1000000000);
    size_t size = localtime_r(&seconds, &local) == NULL
                    ? 0
                    : strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    et->pid = header->pid;
    et->rank = header->rank;
    et->world = header->world;
    et->start_ts = (int64_t)(header->start.monotonic_ns / 1000000);
    et->finish_ts = (int64_t)(header->stop.monotonic_ns / 1000000);
    et->finished = header->state == FD_STATE_STOPPED;
    const fd_string *groups = last_fact(file, "process_groups");
    const fd_string *host = last_fact(file, "host");
    et->time = fd_et_add_text(et, (fd_span){text, text + size});
    if (host != NULL) {
        et->host = fd_et_add_json_text(et, fd_span_inside(string_span(host)));
    }
    if (groups != NULL) {
        fd_et_add_groups(et, string_span(groups));
    }
}

static void
make_graph(making *m)
{
    find_moments(m);
    find_schemas(m);
    fd_et_identify(m->scratch, &m->calls, &m->identities);
    number_all(m);
    put_head(m->et, m->file);
    put_roots(m);
    put_calls(m);
    fd_et_finish(m->et);
    fd_et_find_self(m->et);
    fd_et_find_groups(m->et);
}

static void
close_file(void *file)
{
    fd_chunks_close(file);
}

static void
read_file(fd_et *et, const char *path, bool layers)
{
    fd_arena *scratch = fd_arena_part(&et->arena);
    fd_chunks *file = fd_arena_owned(scratch, sizeof *file, close_file);
    fd_arena_check(scratch,
                   fd_chunks_open(file, path, FD_CHUNKS_ALL, et->arena.error));
    double hertz = fd_chunks_header(file)->hertz;
    making m = {.et = et,
                .scratch = scratch,
                .file = file,
                .indexes = fd_arena_map(scratch),
                .threads = fd_arena_map(scratch),
                .forward = fd_arena_map(scratch),
                .schemas = fd_arena_map(scratch),
                .ns_per_tick = hertz > 0 ? 1e9 / hertz : 1,
                .layers = layers};
    find_calls(&m);
    if (m.calls.count == 0) {
        fd_arena_fail(scratch,
                      fd_fail(et->arena.error, FD_EFORMAT,
                              "%s: no operators for execution traces%s", path,
                              file->truncated || file->damaged > 0
                                  ? " in the readable part: it is cut "
                                    "short or damaged"
                                  : ": record with CallGraph(et=True)"));
    }
    make_graph(&m);
    fd_arena_drop(scratch);
}

fd_status
fd_et_from_recording(fd_et *et, const char *path, bool layers, fd_error *error)
{
    *et = (fd_et){.rank = -1, .unlinked = true};
    if (fd_arena_caught(&et->arena, error)) {
        return et->arena.status;
    }
    read_file(et, path, layers);
    return fd_arena_left(&et->arena);
}
