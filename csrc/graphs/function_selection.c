#include "graphs/function_selection.h"

#include "base/glob.h"

#include "recording/node_table.h"

#include <string.h>

/* The parts of the functions; each has a limit of functions that are drawn
 * without a threshold. */
typedef enum part { OF_USER, OPERATORS, OF_LIBRARY, PARTS } part;
static const uint32_t limits[PARTS] = {60, 40, 24};

static const double DEFAULT_MIN_PERCENT = 0.1;

/* Per context: the kind of code on its path. */
enum {
    NO_CODE,   /* only frameworks */
    IN_CODE,   /* code of the user, or machinery called by it */
    IN_LIBRARY /* below the first public function of a framework */
};

typedef struct folder {
    const fd_trace *trace;
    const fd_groups *groups;
    const fd_rows *rows;
    const fd_export_options *options;
    fd_selection *selection;
    uint8_t *met; /* owned; by context */
} folder;

static bool
is_torch(const fd_trace *trace, const fd_trace_node *node)
{
    return strcmp(fd_trace_text(trace, node->package), "torch") == 0;
}

static bool
is_framework(const fd_trace *trace, const fd_trace_node *node)
{
    return node->from == FD_FROM_STDLIB || node->from == FD_FROM_GENERATED
        || is_torch(trace, node);
}

static bool
one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(text, *list) == 0) {
            return true;
        }
    }
    return false;
}

/* Return whether a name is that of wrappers by decorators and context
 * managers, or a special method that is not called by name. */
static bool
is_machinery_name(const char *name)
{
    static const char *const between[] = {
        "wrapper", "inner", "wrapped", "decorate_context",
        "fn",      "func",  "helper",  "apply",
        "run",     NULL};
    static const char *const special[] = {"__init__", "__iter__", "__next__",
                                          "__getitem__", NULL};
    bool hidden = (name[0] == '_' && !one_of(name, special)) || name[0] == '<';
    return hidden || one_of(name, between);
}

/* Return whether a folder below the package begins with '_'. */
static bool
in_private_folder(const char *file)
{
    const char *at = strstr(file, "/_");
    return at != NULL && strchr(at + 1, '/') != NULL;
}

/* Return whether a public function is drawn. Context managers such as
 * record_function are machinery. */
static bool
is_public(const fd_trace *trace, const fd_trace_node *node)
{
    const char *file = fd_trace_text(trace, node->file);
    const char *name = fd_trace_text(trace, node->name);
    bool manager =
        strncmp(file, "torch/autograd/", strlen("torch/autograd/")) == 0
        && strcmp(name, "__init__") == 0;
    return !manager && !is_machinery_name(name) && !in_private_folder(file);
}

/* Return whether a function is a collective or transfer of PyTorch, which is
 * drawn wherever it is called. */
static bool
is_communication(const fd_trace *trace, const fd_trace_node *node)
{
    static const char *const files[] = {
        "torch/distributed/distributed_c10d.py",
        "torch/distributed/_functional_collectives.py", NULL};
    return one_of(fd_trace_text(trace, node->file), files)
        && !is_machinery_name(fd_trace_text(trace, node->name));
}

/* Return whether a range belongs to the user: a function of the user opened
 * it. */
static bool
opened_by_reader(const folder *f, const fd_trace_context *context)
{
    const fd_trace_context *above = &f->trace->contexts.list[context->parent];
    const fd_trace_node *node = &f->trace->nodes.list[above->node];
    if (node->kind == FD_NODE_RANGE) {
        return f->selection->visibility[f->groups->of_context[context->parent]]
            == FD_DRAWN;
    }
    return fd_kind_is_function(node->kind) && !is_framework(f->trace, node);
}

/* Return whether a function is a part of the function around it (Python 3.12
 * has no frames for most comprehensions), or is made by a decorator: one box
 * would have all calls of all decorated functions. */
static bool
is_inner(const fd_trace *trace, const fd_trace_node *node)
{
    static const char *const comprehensions[] = {
        "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", NULL};
    static const char *const wrappers[] = {"inner", "decorate_context",
                                           "decorated", NULL};
    const char *name = fd_trace_text(trace, node->name);
    bool local =
        strstr(fd_trace_text(trace, node->qualified), "<locals>.") != NULL;
    return one_of(name, comprehensions)
        || (local && (strstr(name, "wrap") != NULL || one_of(name, wrappers)));
}

static void
walk_context(folder *f, uint32_t id)
{
    const fd_trace_context *context = &f->trace->contexts.list[id];
    const fd_trace_node *node = &f->trace->nodes.list[context->node];
    uint8_t *state = &f->selection->visibility[f->groups->of_context[id]];
    uint8_t met = f->met[context->parent];
    bool drawn = false;
    bool inner = false;
    if (node->kind == FD_NODE_RANGE) {
        drawn = opened_by_reader(f, context);
    }
    else if (fd_kind_is_function(node->kind)) {
        bool framework = is_framework(f->trace, node);
        bool shown = met == IN_CODE && is_public(f->trace, node);
        met = !framework ? IN_CODE : shown ? IN_LIBRARY : met;
        drawn = !framework || shown || is_communication(f->trace, node);
        inner = !framework && is_inner(f->trace, node);
    }
    f->met[id] = met;
    if (drawn) {
        *state = inner ? FD_FOLDED_INNER : FD_DRAWN;
    }
}

/* Set the initial visibility, before names and figures are considered. */
static void
start_visibility(folder *f)
{
    bool collapses = f->options->style == FD_STYLE_DEFAULT && !f->options->all;
    for (uint32_t i = 1; i < f->trace->contexts.count; i++) {
        const fd_trace_context *context = &f->trace->contexts.list[i];
        const fd_trace_node *node = &f->trace->nodes.list[context->node];
        uint8_t *state = &f->selection->visibility[f->groups->of_context[i]];
        if (fd_kind_is_function(node->kind) || node->kind == FD_NODE_RANGE) {
            *state = is_torch(f->trace, node) || node->kind == FD_NODE_RANGE
                       ? FD_FOLDED_TORCH
                       : FD_FOLDED_OTHER;
            bool classic_range = f->options->style == FD_STYLE_CLASSIC
                              && node->kind == FD_NODE_RANGE;
            *state = classic_range ? FD_LEFT_OUT
                   : collapses     ? *state
                                   : FD_DRAWN;
        }
        else if ((node->kind == FD_NODE_OP || node->kind == FD_NODE_AUTOGRAD)
                 && f->options->ops != FD_OPS_NONE) {
            *state = FD_DRAWN;
        }
    }
}

static bool
glob_matches(const fd_export_globs *globs, const char *key,
             const char *package)
{
    for (size_t i = 0; i < globs->count; i++) {
        if (fd_glob_matches(globs->list[i], key)
            || fd_glob_matches(globs->list[i], package)) {
            return true;
        }
    }
    return false;
}

static void
apply_globs(folder *f)
{
    for (uint32_t g = 1; g < f->groups->list.count; g++) {
        const fd_group *group = &f->groups->list.list[g];
        const fd_trace_node *node = &f->trace->nodes.list[group->node];
        const char *key = fd_groups_label(f->groups, g);
        const char *package = fd_trace_text(f->trace, node->package);
        uint8_t *state = &f->selection->visibility[g];
        if (*state == FD_LEFT_OUT) {
            continue;
        }
        if (glob_matches(&f->options->hide, key, package)) {
            *state = FD_DELETED;
        }
        else if (glob_matches(&f->options->contract, key, package)) {
            *state = FD_JOINED;
        }
    }
}

static bool
is_operator(const folder *f, uint32_t group)
{
    uint8_t kind = f->trace->nodes.list[f->groups->list.list[group].node].kind;
    return kind == FD_NODE_OP || kind == FD_NODE_AUTOGRAD;
}

static part
part_of(const folder *f, uint32_t group)
{
    const fd_trace_node *node =
        &f->trace->nodes.list[f->groups->list.list[group].node];
    if (is_operator(f, group)) {
        return OPERATORS;
    }
    return fd_kind_is_function(node->kind) && node->from != FD_FROM_USER
             ? OF_LIBRARY
             : OF_USER;
}

static void
drop_small(folder *f, uint32_t group)
{
    uint64_t total = f->rows->list[group].total;
    f->selection->visibility[group] = FD_SMALL;
    if (total > f->selection->small) {
        f->selection->small = total;
    }
}

FD_ORDER_AS(by_descent, uint64_t, FD_ORDER(*other, *one))

/* Set the total above which functions of a part are drawn: that of the last
 * one within the limit, or 0 if all are within it; others with an equal total
 * are drawn too. Functions of libraries that were already running are above
 * the code of the user and are not counted. */
static fd_status
total_of_last(const folder *f, part wanted, uint64_t *total)
{
    FD_VECTOR(uint64_t) totals = {NULL, 0, 0};
    fd_status status = fd_vector_reserve(&totals, f->groups->list.count);
    for (uint32_t g = 1; g < f->groups->list.count && status == FD_OK; g++) {
        const fd_row *row = &f->rows->list[g];
        if (f->selection->visibility[g] == FD_DRAWN && part_of(f, g) == wanted
            && (wanted != OF_LIBRARY || row->calls > 0)) {
            totals.list[totals.count++] = row->total;
        }
    }
    *total = 0;
    if (totals.count > limits[wanted]) {
        fd_vector_sort(&totals, by_descent);
        *total = totals.list[limits[wanted] - 1];
    }
    fd_vector_clear(&totals);
    return status;
}

static fd_status
fold_small(folder *f, uint64_t whole)
{
    bool limited = f->options->min_percent < 0;
    double percent = limited ? DEFAULT_MIN_PERCENT : f->options->min_percent;
    double least = percent / 100 * (double)whole;
    f->selection->min_percent = percent;
    uint64_t last[PARTS] = {0, 0, 0};
    fd_status status = FD_OK;
    for (int i = 0; limited && i < PARTS && status == FD_OK; i++) {
        status = total_of_last(f, (part)i, &last[i]);
    }
    for (uint32_t g = 1; g < f->groups->list.count && status == FD_OK; g++) {
        uint64_t total = f->rows->list[g].total;
        if (f->selection->visibility[g] == FD_DRAWN
            && ((double)total < least || total < last[part_of(f, g)])) {
            drop_small(f, g);
        }
    }
    return status;
}

/* Fold functions of libraries that were already running: a tower of boxes with
 * all of the time above the first call. */
static void
fold_running(folder *f)
{
    for (uint32_t g = 1; g < f->groups->list.count; g++) {
        const fd_row *row = &f->rows->list[g];
        uint8_t *state = &f->selection->visibility[g];
        if (*state == FD_DRAWN && part_of(f, g) == OF_LIBRARY
            && row->calls + row->resumes == 0) {
            *state = FD_FOLDED_RUNNING;
        }
    }
}

/* Count the functions by visibility. A group without a context belongs to
 * another rank. */
static fd_status
count_all(folder *f)
{
    bool *present = fd_calloc(f->groups->list.count, sizeof *present);
    if (present == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 1; i < f->trace->contexts.count; i++) {
        present[f->groups->of_context[i]] = true;
    }
    for (uint32_t g = 1; g < f->groups->list.count; g++) {
        uint8_t *state = &f->selection->visibility[g];
        *state = present[g] ? *state : FD_LEFT_OUT;
        uint32_t *counts = is_operator(f, g) ? f->selection->operators
                                             : f->selection->functions;
        counts[*state]++;
    }
    f->selection->visibility[0] = FD_LEFT_OUT;
    fd_free(present);
    return FD_OK;
}

static fd_status
decide_visibility(folder *f, uint64_t whole)
{
    bool collapses = f->options->style == FD_STYLE_DEFAULT && !f->options->all;
    start_visibility(f);
    for (uint32_t i = 1; i < f->trace->contexts.count && collapses; i++) {
        walk_context(f, i);
    }
    if (collapses) {
        fold_running(f);
    }
    apply_globs(f);
    fd_status status = FD_OK;
    if (collapses || f->options->min_percent > 0) {
        status = fold_small(f, whole);
    }
    return fd_then(status, count_all(f));
}

fd_status
fd_selection_make(fd_selection *selection, const fd_trace *trace,
                  const fd_groups *groups, const fd_rows *rows, uint64_t whole,
                  const fd_export_options *options)
{
    *selection = (fd_selection){
        .visibility =
            fd_malloc(groups->list.count * sizeof *selection->visibility)};
    folder f = {.trace = trace,
                .groups = groups,
                .rows = rows,
                .options = options,
                .selection = selection,
                .met = fd_calloc(trace->contexts.count, sizeof *f.met)};
    fd_status status = FD_ENOMEM;
    if (selection->visibility != NULL && f.met != NULL) {
        memset(selection->visibility, FD_LEFT_OUT, groups->list.count);
        status = decide_visibility(&f, whole);
    }
    fd_free(f.met);
    if (status != FD_OK) {
        fd_selection_clear(selection);
    }
    return status;
}

void
fd_selection_clear(fd_selection *selection)
{
    fd_free(selection->visibility);
    *selection = (fd_selection){.visibility = NULL};
}
