#include "check.h"
#include "fixtures.h"

#include "export/exporters.h"
#include "profile/totals.h"

static void
unknown_formats(void)
{
    CHECK(fd_exporter_find("svg") == NULL);
    CHECK(fd_exporter_find("") == NULL);
    CHECK(fd_exporter_find("PPROF") == NULL);
    CHECK(fd_exporter_find("pprof ") == NULL);
    CHECK(fd_exporter_find("pp") == NULL);
}

/* Appended to the buffer, from a recording, which does not change. */
static void
formats_append(void)
{
    TRAINED_TRACE(trace, 0, NULL);
    TRAINED_TRACE(kept, 0, NULL);
    fd_export_options options = {.rank = FD_ALL_RANKS};
    bool same = false;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_buffer_text(&to, "#");
    OK(fd_exporter_find("pprof")->write(trace, &options, &to, NULL));
    CHECK(to.size > 50);
    EQUAL(to.bytes[0], '#');
    OK(fixture_same(trace, kept, &same));
    CHECK(same);
}

RUN(TEST(unknown_formats), TEST(formats_append))
