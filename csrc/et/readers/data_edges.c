#include "et/et_edges.h"

#include "base/rows.h"
#include "et/et_names.h"

#include <string.h>

/* Maximum number of threads per storage with a stored last reader. */
enum { READERS = 4 };

typedef struct storage {
    uint32_t writer;           /* a reference; 0: written outside of this
                                * trace */
    uint32_t readers[READERS]; /* references of the readers since the last
                                * write, one per thread */
} storage;

#define NOT_WORK UINT32_MAX

typedef struct finding {
    fd_et *et;
    uint32_t *works; /* per call, reference of its first work on another thread
                      * ... */
    uint32_t *next;  /* ... and per work, of the next one; NOT_WORK for other
                      * nodes */
    FD_VECTOR(storage) list;
    fd_map indexes; /* id of a storage + 1 -> index in the list + 1 */
} finding;

static storage *
storage_of(finding *f, uint64_t id, fd_status *status)
{
    if (id == UINT64_MAX) {
        return NULL;
    }
    storage *found =
        fd_row(&f->list, &f->indexes, id + 1, &(storage){.writer = 0});
    *status = found != NULL ? *status : FD_ENOMEM;
    return found;
}

/* Return whether `around` encloses `node`, within a few levels. */
static bool
node_within(const fd_et *et, uint32_t node, uint32_t around)
{
    while (node > around) {
        uint32_t parent = et->nodes.list[node].parent;
        if (parent == 0) {
            return false;
        }
        node = parent - 1;
    }
    return node == around;
}

/* Return whether `to` waited for an earlier access to a storage. Work on
 * another thread can be later or still running: then it did not wait. */
static bool
node_waited(const fd_et *et, uint32_t from, uint32_t to)
{
    const fd_et_node *work = &et->nodes.list[from];
    bool timed = (work->flags & et->nodes.list[to].flags & FD_ET_TIMED) != 0;
    if (node_within(et, to, from)) {
        return false;
    }
    return work->comm == 0
        || (from < to
            && (!timed
                || fd_et_overlap(work->start_ns, work->dur_ns,
                                 et->nodes.list[to].start_ns)
                       != INT64_MAX));
}

/* Remember a reader. The last reader of a thread implies earlier ones by
 * program order. */
static void
remember_reader(const fd_et *et, storage *s, uint32_t index)
{
    const fd_et_node *node = &et->nodes.list[index];
    uint32_t slot = 0;
    for (uint32_t i = 0; i < READERS; i++) {
        uint32_t reader = s->readers[i];
        slot = i;
        if (reader == 0
            || (et->nodes.list[reader - 1].tid == node->tid
                && et->nodes.list[reader - 1].thread == node->thread)) {
            break;
        }
    }
    s->readers[slot] = index + 1;
}

static bool
has_storage(const fd_et *et, uint32_t values, uint64_t id)
{
    const char *at = fd_et_text(et, values);
    const char *end = at + fd_text_pool_size(&et->texts, values);
    fd_et_tensor tensor;
    while (fd_et_next_tensor(&at, end, &tensor)) {
        if (tensor.storage == id) {
            return true;
        }
    }
    return false;
}

static fd_status
read_inputs(finding *f, uint32_t index)
{
    fd_et *et = f->et;
    const fd_et_node *node = &et->nodes.list[index];
    bool mutates = strchr(fd_et_text(et, node->schema), '!') != NULL;
    uint32_t values = node->in.values;
    uint32_t out = node->out.values;
    const char *at = fd_et_text(et, values);
    const char *end = at + fd_text_pool_size(&et->texts, values);
    fd_et_tensor tensor;
    fd_status status = FD_OK;
    while (status == FD_OK && fd_et_next_tensor(&at, end, &tensor)) {
        storage *s = tensor.storage == 0
                       ? NULL
                       : storage_of(f, tensor.storage, &status);
        if (s == NULL) {
            continue;
        }
        if (s->writer != 0 && node_waited(et, s->writer - 1, index)) {
            status = fd_et_add_edge(et, s->writer - 1, index, FD_ET_DATA);
        }
        /* A call does not wait for its own write. */
        if (!mutates || !has_storage(et, out, tensor.storage)) {
            remember_reader(et, s, index);
        }
    }
    return status;
}

static fd_status
write_storage(finding *f, storage *s, uint32_t index)
{
    fd_et *et = f->et;
    fd_status status = FD_OK;
    if (s->writer != 0 && node_within(et, s->writer - 1, index)) {
        return FD_OK; /* an enclosed call wrote it */
    }
    if (s->writer != 0 && node_waited(et, s->writer - 1, index)) {
        status = fd_et_add_edge(et, s->writer - 1, index, FD_ET_DATA);
    }
    for (uint32_t i = 0; i < READERS && status == FD_OK; i++) {
        uint32_t reader = s->readers[i];
        if (reader != 0 && reader - 1 < index
            && node_waited(et, reader - 1, index)) {
            status = fd_et_add_edge(et, reader - 1, index, FD_ET_DATA);
        }
    }
    *s = (storage){.writer = index + 1};
    return status;
}

/* Add writes of the tensors of a list, except those that are also in `unless`
 * (0: empty). */
static fd_status
write_list(finding *f, uint32_t index, uint32_t list, uint32_t unless)
{
    fd_et *et = f->et;
    const char *at = fd_et_text(et, list);
    const char *end = at + fd_text_pool_size(&et->texts, list);
    fd_et_tensor tensor;
    fd_status status = FD_OK;
    while (status == FD_OK && fd_et_next_tensor(&at, end, &tensor)) {
        if (tensor.storage == 0
            || (unless != 0 && has_storage(et, unless, tensor.storage))) {
            continue;
        }
        storage *s = storage_of(f, tensor.storage, &status);
        status = s != NULL ? write_storage(f, s, index) : status;
    }
    return status;
}

/* Add writes of outputs. An output that was an input is a view and not
 * written, unless the schema declares it: "Tensor(a!)". Receive buffers are
 * always written. */
static fd_status
write_outputs(finding *f, uint32_t index)
{
    const fd_et *et = f->et;
    const fd_et_node *node = &et->nodes.list[index];
    bool mutates = strchr(fd_et_text(et, node->schema), '!') != NULL;
    bool receives = node->comm != 0
                 && (node->type == FD_ET_COLL || node->type == FD_ET_RECV);
    fd_status status =
        receives ? write_list(f, index, node->in.values, 0) : FD_OK;
    return status != FD_OK
             ? status
             : write_list(f, index, node->out.values,
                          mutates || receives ? 0 : node->in.values);
}

/* List the work of each collective by the call that started it, which need not
 * enclose the work. */
static void
find_works(finding *f)
{
    for (uint32_t i = 0; i < f->et->nodes.count; i++) {
        f->next[i] = NOT_WORK;
    }
    for (uint32_t i = f->et->edges.count; i-- > 0;) {
        const fd_et_edge *edge = &f->et->edges.list[i];
        if ((edge->kinds & 1U << FD_ET_LAUNCH) != 0
            && (f->et->nodes.list[edge->to].flags & FD_ET_GPU) == 0) {
            f->next[edge->to] = f->works[edge->from];
            f->works[edge->from] = edge->to + 1;
        }
    }
}

static bool
is_visited(const finding *f, uint32_t index)
{
    const fd_et_node *node = &f->et->nodes.list[index];
    return (node->flags & FD_ET_GPU) == 0
        && (node->schema != 0 || node->comm != 0)
        && f->next[index] == NOT_WORK;
}

static fd_status
enter_node(finding *f, uint32_t index)
{
    return is_visited(f, index) ? read_inputs(f, index) : FD_OK;
}

static fd_status
leave_node(finding *f, uint32_t index)
{
    if (!is_visited(f, index)) {
        return FD_OK;
    }
    fd_status status = write_outputs(f, index);
    uint32_t work = f->works[index];
    while (work != 0 && status == FD_OK) {
        status = read_inputs(f, work - 1);
        fd_then(status, write_outputs(f, work - 1));
        work = f->next[work - 1];
    }
    return status;
}

/* The start or end of a call. */
typedef struct moment {
    int64_t time;
    uint32_t number; /* number in the order of calls */
    uint32_t index;
    bool end;
} moment;

typedef FD_VECTOR(moment) moments;

static fd_status
note_moment(const fd_et *et, moments *list, uint32_t index, bool end)
{
    const fd_et_node *node = &et->nodes.list[index];
    moment at = {end ? fd_et_end(node) : node->start_ns, list->count, index,
                 end};
    return fd_vector_push(list, at);
}

/* List starts and ends; the end of a call follows the nodes that it
 * encloses. */
static fd_status
list_moments(const fd_et *et, const uint32_t *order, uint32_t *open,
             moments *list)
{
    uint32_t depth = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i <= et->nodes.count && status == FD_OK; i++) {
        uint32_t parent =
            i < et->nodes.count ? et->nodes.list[order[i]].parent : 0;
        while (depth > 0 && open[depth - 1] + 1 != parent && status == FD_OK) {
            status = note_moment(et, list, open[--depth], true);
        }
        if (i < et->nodes.count && status == FD_OK) {
            open[depth++] = order[i];
            status = note_moment(et, list, order[i], false);
        }
    }
    return status;
}

FD_ORDER_BY(by_time, moment, time, number)

/* Order calls of several threads without times by id, which PyTorch assigns at
 * the start of a call on any thread. A call then ends with the last node that
 * it encloses. */
static void
order_by_id(moments *list)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        moment *at = &list->list[i];
        last = !at->end || at->index > last ? at->index : last;
        at->time = last;
    }
}

/* Order calls by time; the calls of a single thread are in order already. */
static void
order_moments(const fd_et *et, moments *list)
{
    uint32_t roots = 0;
    bool timed = true;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        roots += (node->flags & FD_ET_THREAD) != 0;
        timed = timed && (node->flags & (FD_ET_TIMED | FD_ET_PROCESS)) != 0;
    }
    if (roots > 1) {
        if (!timed) {
            order_by_id(list);
        }
        fd_vector_sort(list, by_time);
    }
}

/* Visit all calls: reads at their start, writes at their end. */
static fd_status
visit_calls(finding *f, const moments *list)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < list->count && status == FD_OK; i++) {
        const moment *at = &list->list[i];
        status = at->end ? leave_node(f, at->index) : enter_node(f, at->index);
    }
    return status;
}

fd_status
fd_et_find_data(fd_et *et, const uint32_t *order)
{
    size_t capacity = (size_t)et->nodes.count + 1;
    finding f = {.et = et,
                 .works = fd_calloc(capacity, sizeof *f.works),
                 .next = fd_calloc(capacity, sizeof *f.next)};
    moments list = {NULL, 0, 0};
    uint32_t *open = fd_malloc(capacity * sizeof *open);
    fd_status status = open == NULL || f.works == NULL || f.next == NULL
                         ? FD_ENOMEM
                         : list_moments(et, order, open, &list);
    if (status == FD_OK) {
        order_moments(et, &list);
        find_works(&f);
        status = visit_calls(&f, &list);
    }
    fd_free(open);
    fd_free(f.works);
    fd_free(f.next);
    fd_vector_clear(&list);
    fd_vector_clear(&f.list);
    fd_map_clear(&f.indexes);
    return status;
}
