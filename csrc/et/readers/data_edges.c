#include "et/et_steps.h"

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
    fd_arena *scratch;
    uint32_t *works; /* per call, reference of its first work on another thread
                      * ... */
    uint32_t *next;  /* ... and per work, of the next one; NOT_WORK for other
                      * nodes */
    FD_VECTOR(storage) list;
    fd_map *indexes; /* id of a storage + 1 -> index in the list + 1 */
} finding;

/* Return the storage of a tensor, or NULL if it has none. It is valid until
 * the next call. */
static storage *
storage_of(finding *f, uint64_t id)
{
    if (id == 0 || id == UINT64_MAX) {
        return NULL;
    }
    uint32_t number = fd_map_get(f->indexes, id + 1);
    if (number == 0) {
        fd_arena_push(f->scratch, &f->list, (storage){.writer = 0});
        number = f->list.count;
        fd_arena_put(f->scratch, f->indexes, id + 1, number);
    }
    return &f->list.list[number - 1];
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
    fd_span rest = fd_text_pool_span(&et->texts, values);
    uint64_t taken;
    while (fd_et_next_storage(&rest, &taken)) {
        if (taken == id) {
            return true;
        }
    }
    return false;
}

static void
read_inputs(finding *f, uint32_t index)
{
    fd_et *et = f->et;
    const fd_et_node *node = &et->nodes.list[index];
    bool mutates = strchr(fd_et_text(et, node->schema), '!') != NULL;
    uint32_t out = node->out.values;
    fd_span rest = fd_text_pool_span(&et->texts, node->in.values);
    uint64_t taken;
    while (fd_et_next_storage(&rest, &taken)) {
        storage *s = storage_of(f, taken);
        if (s == NULL) {
            continue;
        }
        if (s->writer != 0 && node_waited(et, s->writer - 1, index)) {
            fd_et_add_edge(et, s->writer - 1, index, FD_ET_DATA);
        }
        /* A call does not wait for its own write. */
        if (!mutates || !has_storage(et, out, taken)) {
            remember_reader(et, s, index);
        }
    }
}

static void
write_storage(finding *f, storage *s, uint32_t index)
{
    fd_et *et = f->et;
    if (s->writer != 0 && node_within(et, s->writer - 1, index)) {
        return; /* an enclosed call wrote it */
    }
    if (s->writer != 0 && node_waited(et, s->writer - 1, index)) {
        fd_et_add_edge(et, s->writer - 1, index, FD_ET_DATA);
    }
    for (uint32_t i = 0; i < READERS; i++) {
        uint32_t reader = s->readers[i];
        if (reader != 0 && reader - 1 < index
            && node_waited(et, reader - 1, index)) {
            fd_et_add_edge(et, reader - 1, index, FD_ET_DATA);
        }
    }
    *s = (storage){.writer = index + 1};
}

/* Add writes of the tensors of a list, except those that are also in `unless`
 * (0: empty). */
static void
write_list(finding *f, uint32_t index, uint32_t list, uint32_t unless)
{
    fd_et *et = f->et;
    fd_span rest = fd_text_pool_span(&et->texts, list);
    uint64_t taken;
    while (fd_et_next_storage(&rest, &taken)) {
        if (unless != 0 && has_storage(et, unless, taken)) {
            continue;
        }
        storage *s = storage_of(f, taken);
        if (s != NULL) {
            write_storage(f, s, index);
        }
    }
}

/* Add writes of outputs. An output that was an input is a view and not
 * written, unless the schema declares it: "Tensor(a!)". Receive buffers are
 * always written. */
static void
write_outputs(finding *f, uint32_t index)
{
    const fd_et *et = f->et;
    const fd_et_node *node = &et->nodes.list[index];
    bool mutates = strchr(fd_et_text(et, node->schema), '!') != NULL;
    bool receives = node->comm != 0
                 && (node->type == FD_ET_COLL || node->type == FD_ET_RECV);
    if (receives) {
        write_list(f, index, node->in.values, 0);
    }
    write_list(f, index, node->out.values,
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

static void
leave_node(finding *f, uint32_t index)
{
    write_outputs(f, index);
    uint32_t work = f->works[index];
    while (work != 0) {
        read_inputs(f, work - 1);
        write_outputs(f, work - 1);
        work = f->next[work - 1];
    }
}

/* The start or end of a call. */
typedef struct moment {
    int64_t time;
    uint32_t number; /* number in the order of calls */
    uint32_t index;
    bool end;
} moment;

typedef FD_VECTOR(moment) moments;

static void
note_moment(finding *f, moments *list, uint32_t index, bool end)
{
    const fd_et_node *node = &f->et->nodes.list[index];
    moment at = {end ? fd_et_end(node) : node->start_ns, list->count, index,
                 end};
    fd_arena_push(f->scratch, list, at);
}

/* List starts and ends; the end of a call follows the nodes that it
 * encloses. */
static void
list_moments(finding *f, const uint32_t *order, moments *list)
{
    const fd_et *et = f->et;
    uint32_t *open = fd_arena_new(f->scratch, et->nodes.count, sizeof *open);
    uint32_t depth = 0;
    for (uint32_t i = 0; i <= et->nodes.count; i++) {
        uint32_t parent =
            i < et->nodes.count ? et->nodes.list[order[i]].parent : 0;
        while (depth > 0 && open[depth - 1] + 1 != parent) {
            note_moment(f, list, open[--depth], true);
        }
        if (i < et->nodes.count) {
            open[depth++] = order[i];
            note_moment(f, list, order[i], false);
        }
    }
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
static void
visit_calls(finding *f, const moments *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const moment *at = &list->list[i];
        if (is_visited(f, at->index)) {
            (at->end ? leave_node : read_inputs)(f, at->index);
        }
    }
}

void
fd_et_find_data(fd_et *et, const uint32_t *order)
{
    fd_arena *scratch = fd_arena_part(&et->arena);
    size_t count = et->nodes.count;
    finding f = {.et = et,
                 .scratch = scratch,
                 .works = fd_arena_new(scratch, count, sizeof *f.works),
                 .next = fd_arena_new(scratch, count, sizeof *f.next),
                 .indexes = fd_arena_map(scratch)};
    moments list = {NULL, 0, 0};
    list_moments(&f, order, &list);
    order_moments(et, &list);
    find_works(&f);
    visit_calls(&f, &list);
    fd_arena_drop(scratch);
}
