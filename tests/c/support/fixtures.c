#include "fixtures.h"

#include "base/utf8.h"
#include "trace/reader/recording_reader.h"
#include "trace/trace_columns.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_NS = 1000000 };

static fd_status
open_recording(fixture *f, const char *path, size_t max_mb,
               const fd_timeline *timeline)
{
    *f = (fixture){.recording = NULL};
    check_clock(FIRST_NS);
    fd_clock_is_tsc = false;
    fd_limits limits = fd_limits_of(max_mb);
    fd_status status = fd_recording_open(&f->recording, path, &limits, NULL);
    if (status != FD_OK) {
        /* Without memory for its index, it has no room. */
        return check_refused() ? FD_ENOMEM : status;
    }
    fd_header *header = fd_file_header(&f->recording->file);
    header->timing = 1;
    header->pid = 4711;
    memset(header->id, 0xAB, sizeof header->id);
    memset(header->boot_id, 0xCD, sizeof header->boot_id);
    fd_recording_resume(f->recording);
    fd_steps_init(&f->steps, f->recording);
    fd_steps_begin(&f->steps, 0, check_clock_now());
    f->recording->timeline = *timeline;
    f->main = fixture_thread(f, "main");
    return f->main != NULL ? FD_OK : FD_ENOMEM;
}

fd_status
fixture_open(fixture *f, const char *path, size_t max_mb)
{
    return open_recording(f, path, max_mb, &(fd_timeline){.on = false});
}

fd_status
fixture_open_timeline(fixture *f, const fd_timeline *timeline)
{
    fd_status status = open_recording(f, NULL, 4, timeline);
    return status == FD_OK && f->main->events.chunk == NULL ? FD_ENOMEM
                                                            : status;
}

void
fixture_clear(fixture *f)
{
    if (f->recording != NULL) {
        fd_recording_free(f->recording);
    }
    check_clock(0);
    *f = (fixture){.recording = NULL};
}

void
fixture_stop(fixture *f)
{
    fd_recording_stop(f->recording, true);
    fd_file_finish(&f->recording->file);
}

uint32_t
fixture_node(fixture *f, uint8_t kind, const char *name)
{
    fd_node_spec spec = {.kind = kind, .name = name};
    return fd_recording_node(f->recording, &spec, NULL);
}

uint32_t
fixture_function(fixture *f, const char *name, uint32_t flags)
{
    fd_node_spec spec = {.kind = FD_NODE_PYTHON,
                         .strip = 6,
                         .flags = flags,
                         .line = 10,
                         .file = "/home/train.py",
                         .name = name,
                         .qualified = name,
                         .package = "train"};
    return fd_recording_node(f->recording, &spec, NULL);
}

fd_tree *
fixture_thread(fixture *f, const char *role)
{
    fd_tree *tree = fd_tree_attach(f->recording, role, 100);
    if (tree != NULL) {
        fd_tree_start(tree);
    }
    return tree;
}

fd_context *
fixture_enter(fd_tree *tree, fd_callee callee)
{
    fd_tree_tick(tree, check_clock_now());
    fd_context *context = fd_tree_child(tree, tree->current, &callee);
    context->calls++;
    if (fd_tree_depth(tree) < tree->record->capacity
        || fd_tree_grow_stack(tree) == FD_OK) {
        fd_tree_push(tree, context, fd_tree_id(tree, context), NULL,
                     FD_ENTRY_FRAME);
    }
    return context;
}

fd_context *
fixture_enter_node(fd_tree *tree, uint32_t node)
{
    return fixture_enter(tree, (fd_callee){node, 0, 0});
}

void
fixture_leave(fd_tree *tree)
{
    fd_tree_tick(tree, check_clock_now());
    fd_tree_close(tree, fd_tree_depth(tree) - 1);
}

fd_context *
fixture_call(fd_tree *tree, uint32_t node, uint64_t ns)
{
    fd_context *context = fixture_enter_node(tree, node);
    fixture_work(ns);
    fixture_leave(tree);
    return context;
}

void
fixture_work(uint64_t ns)
{
    check_clock(check_clock_now() + ns);
}

size_t
fixture_bytes(const fixture *f)
{
    return fd_file_header(&f->recording->file)->file_bytes;
}

fd_status
fixture_reload(const fixture *f, fd_trace **trace)
{
    return fd_reader_read_memory(trace, f->recording->file.base,
                                 fixture_bytes(f), false, NULL);
}

fd_status
fixture_reload_timeline(const fixture *f, fd_trace **trace)
{
    return fd_reader_read_memory(trace, f->recording->file.base,
                                 fixture_bytes(f), true, NULL);
}

/* The callees of a training run. */
typedef struct cast {
    uint32_t train;
    uint32_t forward;
    uint32_t block;
    uint32_t adam;
    uint32_t embedding;
    uint32_t linear;
    uint32_t mm;
    uint32_t addmm_backward;
    uint32_t accumulate;
    uint32_t gpt;
    uint32_t blocks[2];
} cast;

static uint32_t
method(fixture *f, const char *class_name, const char *name, uint32_t line,
       uint32_t flags)
{
    fd_node_spec spec = {.kind = FD_NODE_PYTHON,
                         .from = FD_FROM_SITE,
                         .strip = 6,
                         .flags = flags,
                         .line = line,
                         .file = "/home/model.py",
                         .class_name = class_name,
                         .name = name,
                         .qualified = name,
                         .package = "model"};
    return fd_recording_node(f->recording, &spec, NULL);
}

static cast
cast_of(fixture *f)
{
    cast c = {
        .train = fixture_function(f, "train", 0),
        .forward = method(f, "GPT", "forward", 20, FD_PHASE_FORWARD),
        .block = method(f, "Block", "forward", 40, 0),
        .adam = method(f, "Adam", "step", 60, FD_PHASE_OPTIMIZER),
        .embedding = fixture_node(f, FD_NODE_OP, "aten::embedding"),
        .linear = fixture_node(f, FD_NODE_OP, "aten::linear"),
        .mm = fixture_node(f, FD_NODE_OP, "aten::mm"),
        .addmm_backward = fixture_node(f, FD_NODE_AUTOGRAD, "AddmmBackward0"),
        .accumulate = fixture_node(f, FD_NODE_AUTOGRAD,
                                   "torch::autograd::AccumulateGrad"),
        .gpt = fd_recording_module(f->recording, 0, "", "GPT"),
    };
    c.blocks[0] =
        fd_recording_module(f->recording, c.gpt, "blocks.0", "Block");
    c.blocks[1] =
        fd_recording_module(f->recording, c.gpt, "blocks.1", "Block");
    return c;
}

/* The forward pass; returns the contexts of the two linear operators. */
static void
play_forward(fixture *f, const cast *c, uint32_t linears[2])
{
    fixture_enter(f->main, (fd_callee){c->forward, c->gpt, 0});
    fixture_work(20);
    fixture_call(f->main, c->embedding, 30);
    for (int i = 0; i < 2; i++) {
        fixture_enter(f->main, (fd_callee){c->block, c->blocks[i], 0});
        fixture_work(40);
        linears[i] =
            fd_tree_id(f->main, fixture_enter_node(f->main, c->linear));
        fixture_work(i == 0 ? 50 : 60);
        fixture_leave(f->main);
        fixture_leave(f->main);
    }
    fixture_leave(f->main);
}

static void
play_backward(fd_tree *tree, const cast *c, const uint32_t linears[2])
{
    fixture_enter(tree, (fd_callee){c->addmm_backward, 0, linears[0]});
    fixture_work(70);
    fixture_call(tree, c->mm, 25);
    fixture_leave(tree);
    fixture_enter(tree, (fd_callee){c->addmm_backward, 0, linears[1]});
    fixture_work(80);
    fixture_leave(tree);
    fixture_call(tree, c->accumulate, 15);
}

static void
set_rank(fixture *f, uint32_t rank)
{
    fd_header *header = fd_file_header(&f->recording->file);
    header->rank = rank;
    header->world = 2;
    header->id[0] = (uint8_t)(rank + 1);
}

fd_status
fixture_train(fixture *f, uint32_t rank)
{
    cast c = cast_of(f);
    fd_tree *engine = fixture_thread(f, "autograd:0");
    uint32_t linears[2];
    if (engine == NULL || c.accumulate == 0 || c.blocks[1] == 0) {
        return FD_ENOMEM;
    }
    set_rank(f, rank);
    fd_recording_note(f->recording, "argv", "[\"train.py\", \"--layers\", 2]");
    fixture_enter_node(f->main, c.train);
    for (int step = 0; step < 2; step++) {
        fixture_work(10);
        play_forward(f, &c, linears);
        play_backward(engine, &c, linears);
        fixture_call(f->main, c.adam, 35);
        fd_steps_end(&f->steps, f->main, FD_STEPS_EXPLICIT);
    }
    return check_refused() ? FD_ENOMEM : FD_OK;
}

static fd_status
record(fixture *f, const char *path, uint32_t rank, const char *run)
{
    fd_status status = fixture_open(f, path, 4);
    fd_then(status, fixture_train(f, rank));
    if (status == FD_OK && run != NULL) {
        char json[64];
        snprintf(json, sizeof json, "\"%s\"", run);
        fd_recording_note(f->recording, "run_id", json);
    }
    if (status == FD_OK) {
        fixture_stop(f);
    }
    return status == FD_OK && check_refused() ? FD_ENOMEM : status;
}

fd_status
fixture_recorded(const char *path, uint32_t rank, const char *run)
{
    fixture f;
    fd_status status = record(&f, path, rank, run);
    fixture_clear(&f);
    return status;
}

/* The memory of the process differs between two recordings. */
static void
fix_memory(fd_trace *trace)
{
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_trace_rank *rank = &trace->ranks.list[i];
        for (uint32_t j = 0; j < rank->marks.count; j++) {
            rank->marks.list[j].memory = (j + 1) << 20;
        }
    }
}

fd_status
fixture_trace(fd_trace **trace, uint32_t rank, const char *run)
{
    fixture f;
    *trace = NULL;
    fd_status status = record(&f, NULL, rank, run);
    fd_then(status, fixture_reload(&f, trace));
    if (status == FD_OK) {
        fix_memory(*trace);
    }
    fixture_clear(&f);
    return status;
}

void
fixture_trace_free(fd_trace **trace)
{
    fd_trace_free(*trace);
    *trace = NULL;
}

fd_status
fixture_text(fd_trace *trace, const char *text, uint32_t *id)
{
    return fd_text_pool_add(&trace->texts, text, strlen(text), id);
}

fd_status
fixture_fact(fd_trace *trace, fd_trace_rank *rank, const char *key,
             const char *json)
{
    fd_trace_meta fact;
    fd_status status = fixture_text(trace, key, &fact.key);
    fd_then(status, fixture_text(trace, json, &fact.json));
    return status == FD_OK ? fd_vector_push(&rank->meta, fact) : status;
}

fd_status
fixture_split_name(fd_trace *trace, const char *name, fd_trace_node *node)
{
    const char *class_name = strchr(name, ':') + 1;
    const char *function = strchr(class_name, ':') + 1;
    fd_text_pool *texts = &trace->texts;
    fd_status status = fd_text_pool_add(
        texts, name, (size_t)(class_name - name) - 1, &node->file);
    fd_then(status, fd_text_pool_add(texts, class_name,
                                     (size_t)(function - class_name) - 1,
                                     &node->class_name));
    return status == FD_OK ? fixture_text(trace, function, &node->name)
                           : status;
}

fd_status
fixture_add(fd_trace *trace, uint32_t parent, uint8_t kind, const char *name,
            uint64_t calls, uint64_t self, uint32_t *id)
{
    fd_trace_node node = {.kind = kind};
    fd_trace_context context = {.parent = parent};
    fd_status status = kind == FD_NODE_PYTHON && strchr(name, ':') != NULL
                         ? fixture_split_name(trace, name, &node)
                         : fixture_text(trace, name, &node.name);
    fd_then(status, fd_trace_add_node(trace, &node, &context.node));
    fd_then(status, fd_trace_add_context(trace, &context, id));
    if (status == FD_OK && trace->ranks.count == 0) {
        status = fd_trace_add_rank(trace) != NULL ? FD_OK : FD_ENOMEM;
    }
    if (status == FD_OK) {
        fd_figure figure = {.context = *id, .calls = calls, .self = self};
        status = fd_vector_push(&trace->ranks.list[0].figures, figure);
    }
    return status;
}

static bool
same_rows(const fd_table *table, const fd_rank_list *a, const fd_rank_list *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = table->from_one; same && i < a->count; i++) {
        const char *left = (const char *)a->list + i * table->row_bytes;
        const char *right = (const char *)b->list + i * table->row_bytes;
        for (size_t c = 0; c < table->count; c++) {
            const fd_column *column = &table->columns[c];
            same = same
                && memcmp(left + column->offset, right + column->offset,
                          column->bytes)
                       == 0;
        }
    }
    return same;
}

static bool
same_ranks(const fd_trace_rank *a, const fd_trace_rank *b)
{
    bool same = memcmp(a->counters, b->counters, sizeof a->counters) == 0;
    const fd_rank_list one = {(void *)(uintptr_t)a, 1, 1};
    const fd_rank_list other = {(void *)(uintptr_t)b, 1, 1};
    same = same && same_rows(&fd_rank_fields, &one, &other)
        && same_rows(&fd_sparse_fields, &one, &other)
        && same_rows(&fd_start_fields, &one, &other);
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        same = same
            && same_rows(fd_rank_tables[i].table, fd_rank_rows(a, i),
                         fd_rank_rows(b, i));
    }
    return same;
}

bool
fixture_same(const fd_trace *a, const fd_trace *b)
{
    bool same =
        a->texts.texts.count == b->texts.texts.count
        && a->ranks.count == b->ranks.count
        && same_rows(&fd_nodes_table, (const fd_rank_list *)&a->nodes,
                     (const fd_rank_list *)&b->nodes)
        && same_rows(&fd_modules_table, (const fd_rank_list *)&a->modules,
                     (const fd_rank_list *)&b->modules)
        && same_rows(&fd_contexts_table, (const fd_rank_list *)&a->contexts,
                     (const fd_rank_list *)&b->contexts);
    for (uint32_t i = 0; same && i < a->texts.texts.count; i++) {
        same = strcmp(fd_trace_text(a, i), fd_trace_text(b, i)) == 0;
    }
    for (uint32_t i = 0; same && i < a->ranks.count; i++) {
        same = same_ranks(&a->ranks.list[i], &b->ranks.list[i]);
    }
    return same;
}

uint32_t
fixture_find(const fd_trace *trace, const char *name)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_node *node =
            &trace->nodes.list[trace->contexts.list[i].node];
        if (strcmp(fd_trace_text(trace, node->name), name) == 0) {
            return i;
        }
    }
    return 0;
}

fd_figure
fixture_figure(const fd_trace *trace, uint32_t rank, uint32_t context)
{
    const fd_trace_rank *from = &trace->ranks.list[rank];
    for (uint32_t i = 0; i < from->figures.count; i++) {
        if (from->figures.list[i].context == context) {
            return from->figures.list[i];
        }
    }
    return (fd_figure){.context = 0};
}

static bool
sound_texts(const fd_text_pool *pool)
{
    for (uint32_t id = 1; id < pool->texts.count; id++) {
        const char *at = fd_text_pool_get(pool, id);
        size_t left = fd_text_pool_size(pool, id);
        while (left > 0) {
            size_t length = fd_utf8_length(at, left);
            if (length == 0 || *at == '\0') {
                return false;
            }
            at += length;
            left -= length;
        }
    }
    return true;
}

static bool
sound_tables(const fd_trace *trace)
{
    bool sound = true;
    for (uint32_t i = 1; i < trace->nodes.count; i++) {
        const fd_trace_node *node = &trace->nodes.list[i];
        sound = sound && node->kind > 0 && node->kind < FD_NODE_KINDS
             && node->from <= FD_FROM_GENERATED;
    }
    for (uint32_t i = 1; i < trace->modules.count; i++) {
        sound = sound && trace->modules.list[i].parent < i;
    }
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        sound = sound && context->parent < i && context->node > 0
             && context->node < trace->nodes.count
             && context->module < trace->modules.count
             && context->origin < trace->contexts.count;
    }
    return sound;
}

static bool
sound_rank(const fd_trace *trace, const fd_trace_rank *rank)
{
    uint32_t count = trace->contexts.count;
    bool sound = rank->state <= FD_STATE_KILLED
              && rank->steps_source <= FD_STEPS_EXPLICIT;
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        uint32_t context = rank->figures.list[i].context;
        sound = sound && context > 0 && context < count
             && rank->figures.list[i].self_squares >= 0;
    }
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        sound = sound && rank->threads.list[i].root < count;
    }
    for (uint32_t i = 0; i < rank->open.count; i++) {
        sound = sound && rank->open.list[i].context < count
             && rank->open.list[i].thread < rank->threads.count;
    }
    for (uint32_t i = 0; i < rank->tops.count; i++) {
        sound = sound && rank->tops.list[i].context < count;
    }
    return sound;
}

bool
fixture_sound(const fd_trace *trace)
{
    bool sound =
        trace->sorted && sound_texts(&trace->texts) && sound_tables(trace);
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        sound = sound && sound_rank(trace, &trace->ranks.list[i]);
    }
    return sound;
}

fd_status
fixture_read(const char *path, fd_buffer *to)
{
    char block[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return FD_EIO;
    }
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        fd_buffer_bytes(to, block, got);
    }
    fclose(file);
    return to->status;
}

fd_status
fixture_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return FD_EIO;
    }
    bool written = size == 0 || fwrite(bytes, size, 1, file) == 1;
    return fclose(file) == 0 && written ? FD_OK : FD_EIO;
}

fd_status
fixture_write_text(const char *path, const char *text)
{
    return fixture_write(path, text, strlen(text));
}

fd_status
fixture_file_create(fd_file *file, const char *path, size_t max_bytes,
                    fd_error *error)
{
    fd_folder folder = {.fd = -1};
    const char *name = NULL;
    *file = (fd_file){.fd = -1, .folder = {.fd = -1}};
    fd_status status = path != NULL
                         ? fd_folder_of(&folder, path, &name, "create", error)
                         : FD_OK;
    fd_then(status, fd_file_begin(file, &folder, name, max_bytes, error));
    if (status == FD_OK) {
        status = fd_file_publish(file, error);
        if (status != FD_OK) {
            fd_file_clear(file);
        }
    }
    fd_folder_close(&folder);
    return status;
}
