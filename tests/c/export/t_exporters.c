#include "check.h"
#include "pictures.h"

#include "export/exporters.h"

#include <string.h>

static void
unknown_formats(void)
{
    CHECK(fd_exporter_find("svg") == NULL);
    CHECK(fd_exporter_find("") == NULL);
    CHECK(fd_exporter_find("DOT") == NULL);
    CHECK(fd_exporter_find("dot ") == NULL);
    CHECK(fd_exporter_find("do") == NULL);
}

/* Appended to the buffer, from a recording, which does not change. */
static void
formats_append(void)
{
    static const char *const names[] = {"callgraph", "dot"};
    static const char *const starts[] = {"#{\"nodes\":[", "#digraph "};
    TRAINED_TRACE(trace, 0, NULL);
    TRAINED_TRACE(kept, 0, NULL);
    fd_export_options options = {.rank = FD_ALL_RANKS, .min_percent = -1};
    bool same = false;
    for (int i = 0; i < 2; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_buffer_text(&to, "#");
        OK(fd_exporter_find(names[i])->write(trace, &options, &to, NULL));
        CHECK(to.size > 50);
        EQUAL(memcmp(to.bytes, starts[i], strlen(starts[i])), 0);
        EQUAL(to.bytes[to.size - 2], '}');
        OK(fixture_same(trace, kept, &same));
        CHECK(same);
    }
}

RUN(TEST(unknown_formats), TEST(formats_append))
