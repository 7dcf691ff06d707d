#include "natives.h"

#include "events/writers/perfetto_drift.h"

#include <string.h>

/* Slices of 0.1 s from 1 s on, inner ones first. */
static fd_status
write_native(void)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_timeline_input input;
    fd_buffer_text(&text, "[");
    for (int i = 0; i < 100; i++) {
        fd_buffer_format(&text,
                         "%s{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":\"a\","
                         "\"ts\":%d,\"dur\":100000}",
                         i > 0 ? "," : "", i % 2, 1000000 + i * 100000);
    }
    fd_buffer_text(&text, "]");
    fd_status status = text.status;
    if (status == FD_OK) {
        status = fixture_write("in.json", text.bytes, text.size);
    }
    return status == FD_OK ? native_merge("in.json", "in.pftrace", &input)
                           : status;
}

static void
offsets_of_a_file_that_drifts(void)
{
    CLEAN(fd_perfetto_drift_close) fd_perfetto_drift drift = {.times = NULL};
    const fd_perfetto_clock clock = {
        .map = {.offset_ns = -2000000000, .drift_ppt = -100000000},
        .step_ns = FD_PERFETTO_STEP_NS};
    int64_t own;
    int64_t offset;
    fd_status status;
    OK(write_native());
    OK(fd_perfetto_drift_open(&drift, &clock, "in.pftrace", "out.pftrace",
                              NULL));
    /* at 2 s it is 0.2 ms before time 0 already */
    for (int64_t i = 0; i < 90; i++) {
        CHECK(fd_perfetto_drift_next(&drift, &own, &offset, &status));
        EQUAL(own, 2100000000 + i * 100000000);
        EQUAL(own + offset, fd_clock_apply(&clock.map, own));
    }
    CHECK(!fd_perfetto_drift_next(&drift, &own, &offset, &status));
    OK(status);
    CHECK(!fd_perfetto_drift_next(&drift, &own, &offset, &status));
    OK(status);
}

static void
no_such_file(void)
{
    CLEAN(fd_perfetto_drift_close) fd_perfetto_drift drift = {.times = NULL};
    const fd_perfetto_clock clock = {.map = {.drift_ppt = 5}};
    STATUS(
        fd_perfetto_drift_open(&drift, &clock, "nowhere", "out.pftrace", NULL),
        FD_EIO);
}

RUN(TEST(offsets_of_a_file_that_drifts), TEST(no_such_file))
