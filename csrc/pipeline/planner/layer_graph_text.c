#include "pipeline/planner/layer_graph_text.h"

#include "pipeline/planner/decimal_digits.h"

#include <string.h>

typedef struct span {
    const char *from;
    size_t size;
} span;

/* An edge; its nodes may follow later in the file. */
typedef struct named_edge {
    span from;
    span to;
    unsigned long line;
} named_edge;

typedef struct reading {
    fd_model *model;
    const char *where;
    unsigned long line;
    FD_VECTOR(named_edge) edges;
    fd_error *error;
} reading;

static const char between[] = " -- ";
static const char figures[] = " -- forward_compute_time=";
static const char stage[] = " -- stage_id=";

static fd_status
wrong_line(const reading *r, const char *what, span field)
{
    int shown = field.size < 60 ? (int)field.size : 60;
    return fd_fail(r->error, FD_EFORMAT, "%s:%lu: %s: '%.*s'", r->where,
                   r->line, what, shown, field.from);
}

/* Return the first or last occurrence of `text`, or NULL. */
static const char *
position_of(span within, const char *text, bool last)
{
    size_t size = strlen(text);
    const char *found = NULL;
    for (size_t at = 0; at + size <= within.size; at++) {
        if (memcmp(within.from + at, text, size) == 0) {
            found = within.from + at;
            if (!last) {
                break;
            }
        }
    }
    return found;
}

static span
text_until(span text, const char *end)
{
    return (span){text.from, (size_t)(end - text.from)};
}

static span
text_from(span text, const char *begin)
{
    const char *end = text.from + text.size;
    return begin < end ? (span){begin, (size_t)(end - begin)} : (span){end, 0};
}

/* Return the part before the next `mark`, or everything; move `rest` after the
 * mark. */
static span
next_part(span *rest, const char *mark)
{
    const char *end = position_of(*rest, mark, false);
    span part = end == NULL ? *rest : text_until(*rest, end);
    *rest = end == NULL ? text_from(*rest, rest->from + rest->size)
                        : text_from(*rest, end + strlen(mark));
    return part;
}

static fd_status
read_number(const reading *r, const char *name, span text, double *value)
{
    if (!fd_digits_read(text.from, text.size, value)) {
        char what[64] = "";
        strncat(what, name, 32);
        return wrong_line(r, strcat(what, " is not a finite number"), text);
    }
    if (*value < 0) {
        char what[64] = "";
        strncat(what, name, 32);
        return wrong_line(r, strcat(what, " is negative"), text);
    }
    return FD_OK;
}

/* Read one size, or "[a; b; c]". */
static fd_status
read_outputs(const reading *r, span text, fd_model_node *node)
{
    bool listed = text.size >= 2 && text.from[0] == '['
               && text.from[text.size - 1] == ']';
    span rest = listed ? (span){text.from + 1, text.size - 2} : text;
    node->first_output = r->model->sizes.count;
    do {
        double size = 0;
        span part = next_part(&rest, "; ");
        fd_status status = read_number(r, "activation_size", part, &size);
        if (status != FD_OK
            || (status = fd_vector_push(&r->model->sizes, size)) != FD_OK) {
            return status;
        }
        node->activation += size;
        node->outputs++;
    } while (listed && rest.size > 0);
    return FD_OK;
}

static fd_status
read_figures(const reading *r, span text, fd_model_node *node)
{
    static const char *const names[] = {
        "forward_compute_time=", "backward_compute_time=", "activation_size=",
        "parameter_size="};
    double *const values[] = {&node->forward, &node->backward, NULL,
                              &node->parameters};
    span rest = text;
    for (size_t i = 0; i < 4; i++) {
        span part = next_part(&rest, ", ");
        size_t size = strlen(names[i]);
        if (part.size < size || memcmp(part.from, names[i], size) != 0) {
            char what[64] = "expected ";
            return wrong_line(r, strncat(what, names[i], 32), part);
        }
        span value = text_from(part, part.from + size);
        char name[32] = "";
        strncat(name, names[i], size - 1);
        fd_status status = values[i] == NULL
                             ? read_outputs(r, value, node)
                             : read_number(r, name, value, values[i]);
        if (status != FD_OK) {
            return status;
        }
    }
    return rest.size == 0 ? FD_OK : wrong_line(r, "too many figures", rest);
}

static fd_status
read_stage(const reading *r, span text, fd_model_node *node)
{
    int32_t number = 0;
    bool fits = text.size > 0 && text.size < 9;
    for (size_t i = 0; i < text.size && fits; i++) {
        fits = text.from[i] >= '0' && text.from[i] <= '9';
        number = number * 10 + (text.from[i] - '0');
    }
    node->stage = number;
    return fits ? FD_OK
                : wrong_line(r, "stage_id is not a non-negative number", text);
}

static fd_status
add_node(const reading *r, fd_model_node *node, span id, span name)
{
    fd_model *model = r->model;
    fd_error inner = {""};
    node->id = fd_model_keep(model, id.from, id.size);
    node->name = fd_model_keep(model, name.from, name.size);
    fd_status status = fd_model_add(model, node, &inner);
    return status == FD_EINVAL ? fd_fail(r->error, FD_EFORMAT, "%s:%lu: %s",
                                         r->where, r->line, inner.text)
                               : status;
}

/* Read a node from the right, since its name may contain any text. */
static fd_status
read_node(const reading *r, span line)
{
    fd_model_node node = {.stage = FD_NO_STAGE,
                          .forward_spread = FD_UNKNOWN,
                          .backward_spread = FD_UNKNOWN,
                          .saved = FD_UNKNOWN};
    const char *first = position_of(line, between, false);
    const char *meta = position_of(line, figures, true);
    if (first == NULL || meta == NULL) {
        return wrong_line(
            r,
            "neither a node 'ID -- NAME -- "
            "forward_compute_time=...' nor an edge '<TAB>ID -- ID'",
            line);
    }
    if (meta < first + strlen(between)) {
        return wrong_line(
            r, "a node has a name between its id and its figures", line);
    }
    span text = text_from(line, meta + strlen(between));
    const char *staged = position_of(text, stage, false);
    fd_status status = FD_OK;
    if (staged != NULL) {
        status = read_stage(r, text_from(text, staged + strlen(stage)), &node);
        text = text_until(text, staged);
    }
    fd_then(status, read_figures(r, text, &node));
    span name = text_from(text_until(line, meta), first + strlen(between));
    return fd_then(status, add_node(r, &node, text_until(line, first), name));
}

static fd_status
read_edge(reading *r, span line)
{
    const char *middle = position_of(line, between, false);
    if (middle == NULL) {
        return wrong_line(r, "an edge is '<TAB>ID -- ID'", line);
    }
    named_edge edge = {text_until(line, middle),
                       text_from(line, middle + strlen(between)), r->line};
    return fd_vector_push(&r->edges, edge);
}

static fd_status
resolve_edges(reading *r)
{
    fd_model *model = r->model;
    for (uint32_t i = 0; i < r->edges.count; i++) {
        const named_edge *named = &r->edges.list[i];
        const span ends[] = {named->from, named->to};
        uint32_t found[2];
        for (size_t end = 0; end < 2; end++) {
            found[end] = fd_model_find(model, ends[end].from, ends[end].size);
            if (found[end] == model->nodes.count) {
                r->line = named->line;
                return wrong_line(r, "an edge of an unknown node", ends[end]);
            }
        }
        fd_status status =
            fd_vector_push(&model->edges, (fd_model_edge){found[0], found[1]});
        if (status != FD_OK) {
            return status;
        }
    }
    return FD_OK;
}

static fd_status
read_lines(reading *r, const char *text, size_t size)
{
    fd_status status = FD_OK;
    const char *end = size > 0 ? text + size : text;
    while (text < end && status == FD_OK) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop == NULL ? end : stop;
        span line = {text, (size_t)(stop - text)};
        if (line.size > 0 && stop[-1] == '\r') {
            line.size--;
        }
        r->line++;
        text = stop + 1;
        if (memchr(line.from, '\0', line.size) != NULL) {
            status = wrong_line(r, "a byte 0 in the line", line);
        }
        else if (line.size > 0 && *line.from == '\t') {
            status = read_edge(r, text_from(line, line.from + 1));
        }
        else if (line.size > 0) {
            status = read_node(r, line);
        }
    }
    return status;
}

fd_status
fd_model_read_text(fd_model *model, const char *text, size_t size,
                   const char *where, fd_error *error)
{
    reading r = {.model = model, .where = where, .error = error};
    fd_error inner = {""};
    fd_status status = read_lines(&r, text, size);
    fd_then(status, resolve_edges(&r));
    if (status == FD_OK) {
        status = fd_model_close(model, &inner);
        if (status == FD_EINVAL) {
            status = fd_fail(error, FD_EFORMAT, "%s: %s", where, inner.text);
        }
    }
    fd_vector_clear(&r.edges);
    return status;
}

static void
write_outputs(const fd_model *model, const fd_model_node *node, fd_buffer *to)
{
    if (node->outputs < 2) {
        fd_digits_write(to, node->activation);
        return;
    }
    fd_buffer_text(to, "[");
    for (uint32_t i = 0; i < node->outputs; i++) {
        fd_buffer_text(to, i > 0 ? "; " : "");
        fd_digits_write(to, model->sizes.list[node->first_output + i]);
    }
    fd_buffer_text(to, "]");
}

static void
write_name(const char *name, fd_buffer *to)
{
    while (*name != '\0') {
        size_t size = strcspn(name, "\r\n");
        fd_buffer_bytes(to, name, size);
        name += size;
        name += strspn(name, "\r\n");
    }
}

void
fd_model_write_text(const fd_model *model, fd_buffer *to)
{
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        const fd_model_node *node = &model->nodes.list[i];
        fd_buffer_text(to, i > 0 ? "\n" : "");
        fd_buffer_text(to, fd_model_text(model, node->id));
        fd_buffer_text(to, between);
        write_name(fd_model_text(model, node->name), to);
        fd_buffer_text(to, figures);
        fd_digits_write_thousandths(to, node->forward);
        fd_buffer_text(to, ", backward_compute_time=");
        fd_digits_write_thousandths(to, node->backward);
        fd_buffer_text(to, ", activation_size=");
        write_outputs(model, node, to);
        fd_buffer_text(to, ", parameter_size=");
        fd_digits_write_thousandths(to, node->parameters);
        if (node->stage != FD_NO_STAGE) {
            fd_buffer_format(to, "%s%d", stage, (int)node->stage);
        }
    }
    for (uint32_t i = 0; i < model->edges.count; i++) {
        const fd_model_edge *edge = &model->edges.list[i];
        const fd_model_node *nodes = model->nodes.list;
        fd_buffer_text(to, "\n\t");
        fd_buffer_text(to, fd_model_text(model, nodes[edge->from].id));
        fd_buffer_text(to, between);
        fd_buffer_text(to, fd_model_text(model, nodes[edge->to].id));
    }
}
