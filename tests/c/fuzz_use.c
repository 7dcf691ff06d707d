#include "fuzz.h"

#include "analysis/edges.h"
#include "analysis/rows.h"
#include "base/utf8.h"
#include "export/exporters.h"

#include <stdlib.h>

static void
must(bool held)
{
    if (!held) {
        abort();
    }
}

static void
use_analysis(const fd_trace *trace)
{
    fd_totals totals;
    must(fd_totals_sum(&totals, trace, FD_ALL_RANKS) == FD_OK);
    for (int by = FD_BY_NODE; by <= FD_BY_PACKAGE; by++) {
        fd_groups groups;
        fd_rows rows = {NULL, 0, 0};
        fd_edges edges = {NULL, 0, 0};
        must(fd_groups_make(&groups, trace, (fd_grouping)by) == FD_OK);
        must(fd_rows_sum(&rows, trace, &groups, &totals) == FD_OK);
        must(fd_edges_sum(&edges, trace, &groups, &totals) == FD_OK);
        fd_vector_clear(&rows);
        fd_vector_clear(&edges);
        fd_groups_clear(&groups);
    }
    fd_totals_clear(&totals);
}

/* Readers of all formats want whole UTF-8. */
static void
use_export(const fd_trace *trace, const char *format,
           const fd_export_options *options)
{
    fd_buffer text = {.bytes = NULL};
    must(fd_exporter_find(format)->write(trace, options, &text, NULL)
         == FD_OK);
    for (size_t at = 0, length; at < text.size; at += length) {
        length = fd_utf8_length(text.bytes + at, text.size - at);
        must(length > 0);
    }
    must(text.size > 2 && text.bytes[text.size - 2] == '}');
    fd_buffer_clear(&text);
}

static void
use_exports(const fd_trace *trace)
{
    fd_export_options options = {.rank = FD_ALL_RANKS, .min_percent = -1};
    use_export(trace, "dot", &options);
    options.ops = FD_OPS_ALL;
    options.all = true;
    use_export(trace, "callgraph", &options);
    use_export(trace, "dot", &options);
    options.style = FD_STYLE_CLASSIC;
    use_export(trace, "dot", &options);
}

void
fuzz_use(const fd_trace *trace)
{
    fd_buffer text = {.bytes = NULL};
    fd_trace *again = NULL;
    bool same = false;
    must(fixture_sound(trace));
    use_analysis(trace);
    use_exports(trace);
    must(fixture_dump(trace, &text) == FD_OK);
    must(fixture_load(&again, text.bytes, text.size, NULL) == FD_OK);
    must(fixture_same(trace, again, &same) == FD_OK && same);
    fd_trace_free(again);
    fd_buffer_clear(&text);
}
