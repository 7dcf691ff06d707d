#include "et/data_edges.h"

#include "et/names.h"

#include <string.h>

/* Threads of which a storage remembers the last reader. */
enum { READERS = 4 };

typedef struct storage {
    uint32_t writer; /* + 1; 0: none in this trace */
    uint32_t readers[READERS]; /* since it was written, + 1; one a thread */
} storage;

typedef struct finding {
    fd_et *et;
    FD_VECTOR(storage) list;
    fd_map places; /* a storage's id + 1 -> its place in the list + 1 */
} finding;

static storage *
storage_of(finding *f, uint64_t id, fd_status *status)
{
    if (id == UINT64_MAX) {
        return NULL;
    }
    uint32_t place = fd_map_get(&f->places, id + 1);
    if (place == 0) {
        *status = fd_vector_push(&f->list, (storage){.writer = 0});
        place = f->list.count;
        if (*status == FD_OK) {
            *status = fd_map_put(&f->places, id + 1, place);
        }
    }
    return *status == FD_OK ? &f->list.list[place - 1] : NULL;
}

/* Whether `node` lies within `around`, which is not deep above. */
static bool
within(const fd_et *et, uint32_t node, uint32_t around)
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

/* Later readers of a thread stand for earlier ones: there is an order. */
static void
remember(const fd_et *et, storage *s, uint32_t place)
{
    uint32_t tid = et->nodes.list[place].tid;
    uint32_t slot = 0;
    for (uint32_t i = 0; i < READERS; i++) {
        uint32_t reader = s->readers[i];
        slot = i;
        if (reader == 0 || et->nodes.list[reader - 1].tid == tid) {
            break;
        }
    }
    s->readers[slot] = place + 1;
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
read_inputs(finding *f, uint32_t place)
{
    fd_et *et = f->et;
    const fd_et_node *node = &et->nodes.list[place];
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
        if (s->writer != 0 && !within(et, place, s->writer - 1)) {
            status = fd_et_add_edge(et, s->writer - 1, place, FD_ET_DATA);
        }
        /* What it writes itself it would wait for itself. */
        if (!mutates || !has_storage(et, out, tensor.storage)) {
            remember(et, s, place);
        }
    }
    return status;
}

static fd_status
write_storage(finding *f, storage *s, uint32_t place)
{
    fd_et *et = f->et;
    fd_status status = FD_OK;
    if (s->writer != 0 && within(et, s->writer - 1, place)) {
        return FD_OK; /* something in it wrote */
    }
    if (s->writer != 0 && !within(et, place, s->writer - 1)) {
        status = fd_et_add_edge(et, s->writer - 1, place, FD_ET_DATA);
    }
    for (uint32_t i = 0; i < READERS && status == FD_OK; i++) {
        uint32_t reader = s->readers[i];
        if (reader != 0 && reader - 1 < place
            && !within(et, place, reader - 1)) {
            status = fd_et_add_edge(et, reader - 1, place, FD_ET_DATA);
        }
    }
    *s = (storage){.writer = place + 1};
    return status;
}

/* An output that was an input is a view, unless the schema says that it is
 * written: "Tensor(a!)". */
static fd_status
write_outputs(finding *f, uint32_t place)
{
    fd_et *et = f->et;
    const fd_et_node *node = &et->nodes.list[place];
    bool mutates = strchr(fd_et_text(et, node->schema), '!') != NULL;
    uint32_t in = node->in.values;
    uint32_t out = node->out.values;
    const char *at = fd_et_text(et, out);
    const char *end = at + fd_text_pool_size(&et->texts, out);
    fd_et_tensor tensor;
    fd_status status = FD_OK;
    while (status == FD_OK && fd_et_next_tensor(&at, end, &tensor)) {
        if (tensor.storage == 0
            || (!mutates && has_storage(et, in, tensor.storage))) {
            continue;
        }
        storage *s = storage_of(f, tensor.storage, &status);
        status = s != NULL ? write_storage(f, s, place) : status;
    }
    return status;
}

static bool
touches(const fd_et *et, uint32_t place)
{
    const fd_et_node *node = &et->nodes.list[place];
    return (node->flags & FD_ET_GPU) == 0
           && (node->schema != 0 || node->comm != 0);
}

/* Reads at entry, writes at exit: on the way back from what it encloses. */
static fd_status
visit(finding *f, const uint32_t *order, uint32_t *open)
{
    fd_et *et = f->et;
    uint32_t depth = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i <= et->nodes.count && status == FD_OK; i++) {
        uint32_t parent = i < et->nodes.count
                              ? et->nodes.list[order[i]].parent
                              : 0;
        while (depth > 0 && open[depth - 1] + 1 != parent
               && status == FD_OK) {
            uint32_t done = open[--depth];
            status = touches(et, done) ? write_outputs(f, done) : FD_OK;
        }
        if (i < et->nodes.count && status == FD_OK) {
            open[depth++] = order[i];
            status = touches(et, order[i]) ? read_inputs(f, order[i]) : FD_OK;
        }
    }
    return status;
}

fd_status
fd_et_find_data(fd_et *et, const uint32_t *order)
{
    finding f = {.et = et};
    uint32_t *open = fd_malloc(((size_t)et->nodes.count + 1) * sizeof *open);
    fd_status status = open == NULL ? FD_ENOMEM : visit(&f, order, open);
    fd_free(open);
    fd_vector_clear(&f.list);
    fd_map_clear(&f.places);
    return status;
}
