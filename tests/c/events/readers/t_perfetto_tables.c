#include "check.h"

#include "events/readers/perfetto_tables.h"
#include "events/recorded/perfetto_fields.h"

#include <string.h>

static fd_status
take(fd_perfetto_tables *t, const char *bytes, size_t size,
     fd_perfetto_packet *packet)
{
    return fd_perfetto_tables_take(t, bytes, size, packet);
}

static void
clocks(void)
{
    CLEAN(fd_perfetto_tables_clear) fd_perfetto_tables t = {.has_base = false};
    fd_perfetto_packet p;
    /* defaults: clock 64; snapshot: 64 is 100 and counts on, boot time 1000,
     * real time 1500 */
    OK(take(&t, "\x50\x01\xDA\x03\x03\xD0\x03\x40", 8, &p));
    OK(take(&t,
            "\x50\x01\x32\x16\x0A\x06\x08\x40\x10\x64\x18\x01"
            "\x0A\x05\x08\x06\x10\xE8\x07\x0A\x05\x08\x01\x10\xDC\x0B",
            26, &p));
    OK(take(&t, "\x50\x01\x40\x05", 4, &p));
    CHECK(p.has_time && !p.lost);
    EQUAL(p.time, 1005);
    OK(take(&t, "\x50\x01\x40\x05", 4, &p));
    EQUAL(p.time, 1010);
    OK(take(&t, "\x50\x01\x40\x05\xD0\x03\x06", 7, &p)); /* boot time */
    EQUAL(p.time, 5);
    OK(take(&t, "\x50\x02\x40\x05\xD0\x03\x40", 7, &p)); /* not its clock */
    CHECK(p.lost);
    CHECK(t.has_base);
    EQUAL(t.base_ns, 500);
    STATUS(take(&t, "\x50", 1, &p), FD_EFORMAT);
}

static void
tracks_and_texts(void)
{
    CLEAN(fd_perfetto_tables_clear) fd_perfetto_tables t = {.has_base = false};
    fd_perfetto_packet p;
    uint32_t pid = 0;
    OK(take(&t, "\xE2\x03\x08\x08\x07\x1A\x04\x08\x11\x32\x00", 11, &p));
    OK(take(&t, "\xE2\x03\x07\x08\x08\x28\x07\x12\x01L", 10, &p));
    fd_status status = FD_OK;
    fd_perfetto_track *lane = fd_perfetto_track_of(&t, 8, &status);
    OK(status);
    EQUAL(lane->kind, FD_PERFETTO_OTHER);
    CHECK(fd_perfetto_pid_of(&t, lane, &pid));
    EQUAL(pid, 17);
    OK(take(&t, "\x50\x01\x62\x07\x12\x05\x08\x03\x12\x01N", 11, &p));
    CHECK(p.from != NULL);
    uint32_t text = fd_perfetto_interned(p.from, FD_PB_INTERNED_NAME, 3);
    SAME(fd_text_pool_get(&t.texts, text), "N");
    OK(take(&t, "\x50\x01\x68\x01", 4, &p)); /* forget */
    EQUAL(fd_perfetto_interned(p.from, FD_PB_INTERNED_NAME, 3), 0);
    OK(take(&t, "\xC2\x3E\x01x", 4, &p));
    CHECK(p.other);
}

static void
own_origin(void)
{
    CLEAN(fd_perfetto_tables_clear) fd_perfetto_tables t = {.has_base = false};
    fd_perfetto_packet p;
    OK(take(&t,
            "\xEA\x02\x05\x22\x03"
            "abc",
            8, &p));
    CHECK(p.other);
    SAME(t.origin, "");
    OK(take(&t,
            "\xEA\x02\x17\x22\x15"
            "fastdispatch: 2 files",
            26, &p));
    OK(take(&t,
            "\xEA\x02\x17\x22\x15"
            "fastdispatch: 3 files",
            26, &p));
    CHECK(!p.other);
    SAME(t.origin, "fastdispatch: 2 files");
}

RUN(TEST(clocks), TEST(tracks_and_texts), TEST(own_origin))
