#include "et/et_writers.h"

#include "et/et_names.h"
#include "et/tools/dot_writer.h"
#include "et/tools/et_collapse.h"
#include "et/tools/markup_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Maximum number of boxes; of dependency lines if each box is one node, and if
 * boxes have several nodes (such boxes depend on each other in all directions,
 * and lines hide the calls); of characters of a name. */
enum { BOXES = 120, LINES = 400, COLLAPSED_LINES = 40, TITLE = 44 };

static const char *const colours[FD_ET_KINDS] = {
    "#B4BCC6", "#2E7D32", "#00838F", "#6A1B9A",
    "#C62828", "#EF6C00", "#1565C0", "#5D4037"};

static const char *
fill_of(const fd_et *et, const fd_et_box *box)
{
    const fd_et_node *node = &et->nodes.list[box->node];
    return box->others                  ? "#F1F3F5"
         : node->type >= FD_ET_SEND     ? "#FDE3C8"
         : box->gpu                     ? "#DDF1DE"
         : node->type == FD_ET_METADATA ? "#F1F3F5"
                                        : "#E6EFFA";
}

static void
put_figures(fd_buffer *to, const fd_et_box *box)
{
    if (box->count > 1 || box->ns > 0) {
        fd_buffer_text(to, "\\n");
    }
    if (box->count > 1) {
        fd_buffer_text(to, "\xC3\x97 ");
        fd_text_count(to, box->count);
    }
    if (box->ns > 0) {
        fd_buffer_text(to, box->count > 1 ? " \xC2\xB7 " : "");
        fd_buffer_time(to, (uint64_t)box->ns);
    }
}

static void
put_box(fd_dot_writer *w, const fd_et *et, const fd_et_collapsed *collapsed,
        uint32_t at)
{
    const fd_et_box *box = &collapsed->boxes.list[at];
    uint32_t name = et->nodes.list[box->node].name;
    fd_dot_begin_node(w, at);
    fd_dot_put_text(w, "fillcolor", fill_of(et, box));
    fd_buffer_text(fd_dot_put(w, "label"), "\"");
    if (box->others) {
        fd_text_count(w->to, collapsed->names);
        fd_buffer_text(w->to, " other names");
    }
    else {
        fd_text_dot(w->to, fd_et_text(et, name),
                    fd_text_pool_size(&et->texts, name), TITLE);
    }
    put_figures(w->to, box);
    fd_buffer_text(w->to, "\"");
    fd_dot_end_statement(w);
}

static void
put_call(fd_dot_writer *w, const fd_et_line *line)
{
    fd_dot_begin_edge(w, line->from, line->to);
    fd_dot_put_word(w, "style", "dotted");
    fd_dot_put_text(w, "color", "#5F6B7A");
    fd_dot_put_word(w, "arrowhead", "none");
    fd_dot_put_number(w, "weight", 10);
    fd_dot_end_statement(w);
}

static void
put_line(fd_dot_writer *w, const fd_et_line *line, int kind)
{
    fd_dot_begin_edge(w, line->from, line->to);
    fd_dot_put_text(w, "color", colours[kind]);
    fd_buffer_format(fd_dot_put(w, "penwidth"), "%.2f",
                     0.8 + 0.5 * log10((double)line->counts[kind]));
    if (kind != FD_ET_LAUNCH) {
        fd_dot_put_word(w, "constraint", "false");
    }
    if (line->counts[kind] > 1) {
        /* With labels in the layout, Graphviz fails on some graphs. */
        fd_buffer_format(fd_dot_put(w, "xlabel"), "\"%" PRIu64 "\"",
                         line->counts[kind]);
        fd_dot_put_text(w, "fontcolor", colours[kind]);
    }
    fd_dot_end_statement(w);
}

typedef struct drawn {
    uint64_t count;
    uint32_t line;
    int kind;
} drawn;

FD_ORDER_AS(more_often, drawn, FD_UP(kind == FD_ET_DATA), FD_DOWN(count),
            FD_UP(line), FD_UP(kind))

/* Return whether dependencies of a kind are drawn. Program order is
 * meaningless between collapsed calls: a precedes b and b precedes a. */
static bool
is_drawn(const fd_et_collapsed *collapsed, int kind)
{
    return kind != FD_ET_ORDER || collapsed->mode == FD_ET_EACH;
}

/* Draw the most frequent lines, data dependencies last; `*left` is the number
 * of omitted lines. */
static fd_status
put_lines(fd_dot_writer *w, const fd_et_collapsed *collapsed, uint32_t *left)
{
    size_t capacity = (size_t)collapsed->lines.count * FD_ET_KINDS + 1;
    drawn *list = fd_calloc(capacity, sizeof *list);
    uint32_t most = collapsed->mode == FD_ET_EACH ? LINES : COLLAPSED_LINES;
    uint32_t count = 0;
    if (list == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < collapsed->lines.count; i++) {
        const fd_et_line *line = &collapsed->lines.list[i];
        if (line->calls > 0) {
            put_call(w, line);
        }
        for (int kind = 0; kind < FD_ET_KINDS; kind++) {
            if (line->counts[kind] > 0 && is_drawn(collapsed, kind)) {
                list[count++] = (drawn){line->counts[kind], i, kind};
            }
        }
    }
    qsort(list, count, sizeof *list, more_often);
    for (uint32_t i = 0; i < count && i < most; i++) {
        put_line(w, &collapsed->lines.list[list[i].line], list[i].kind);
    }
    *left = count > most ? count - most : 0;
    fd_free(list);
    return FD_OK;
}

static void
put_legend(fd_buffer *to, const fd_et *et, const fd_et_collapsed *collapsed,
           uint32_t left)
{
    static const char *const modes[] = {
        "each node", "calls of one name below one call are one box",
        "calls of one name are one box",
        "calls of one name are one box, small ones together"};
    bool seen[FD_ET_KINDS] = {false};
    fd_buffer_text(to, "label=<");
    fd_text_count(to, et->nodes.count);
    fd_buffer_format(to, " nodes: %s. Dotted: calls", modes[collapsed->mode]);
    for (uint32_t i = 0; i < collapsed->lines.count; i++) {
        for (int kind = 0; kind < FD_ET_KINDS; kind++) {
            seen[kind] =
                seen[kind] || collapsed->lines.list[i].counts[kind] > 0;
        }
    }
    for (int kind = 0; kind < FD_ET_KINDS; kind++) {
        if (seen[kind] && is_drawn(collapsed, kind)) {
            fd_buffer_format(to,
                             " <FONT COLOR=\"%s\"><B>\xE2\x86\x92 %s</B>"
                             "</FONT>",
                             colours[kind], fd_et_kind_name(kind));
        }
    }
    if (left > 0) {
        fd_buffer_format(to, ". %" PRIu32 " rare lines are omitted", left);
    }
    if (collapsed->mode != FD_ET_EACH) {
        fd_buffer_text(to, ". Order is not drawn");
    }
    fd_buffer_text(to, ">\n");
}

static const char defaults[] =
    "graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, labelloc=b, "
    "labeljust=l, ranksep=0.4, nodesep=0.2, rankdir=LR]\n"
    "node [shape=box, style=\"rounded,filled\", color=\"#8893A0\", "
    "fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, "
    "margin=\"0.1,0.05\"]\n"
    "edge [arrowsize=0.6, fontsize=9, "
    "fontname=\"Helvetica,Arial,sans-serif\"]\n";

fd_status
fd_et_write_dot(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    (void)error;
    fd_dot_writer w = {.to = fd_bytes_out_text(out)};
    fd_et_collapsed collapsed;
    uint32_t left = 0;
    fd_status status = fd_et_collapse(&collapsed, et, BOXES);
    if (status == FD_OK) {
        fd_dot_begin(&w, "trace", defaults);
        for (uint32_t i = 0; i < collapsed.boxes.count; i++) {
            put_box(&w, et, &collapsed, i);
        }
        status = put_lines(&w, &collapsed, &left);
        put_legend(w.to, et, &collapsed, left);
        fd_dot_end(&w);
    }
    fd_et_collapsed_clear(&collapsed);
    return status;
}
