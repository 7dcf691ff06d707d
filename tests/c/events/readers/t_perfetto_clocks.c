#include "check.h"

#include "events/readers/perfetto_clocks.h"
#include "events/recorded/perfetto_fields.h"

#include <string.h>

typedef struct clocks {
    fd_perfetto_clocks all;
    fd_perfetto_clocks own;
    bool has_base;
    int64_t base_ns;
} clocks;

static void
clocks_clear(clocks *c)
{
    fd_perfetto_clocks_clear(&c->all);
    fd_perfetto_clocks_clear(&c->own);
}

static fd_status
take(clocks *c, const char *bytes, size_t size)
{
    const fd_proto_field message = {.bytes = bytes, .size = size};
    return fd_perfetto_clocks_snapshot(&c->all, &c->own, &message,
                                       &c->has_base, &c->base_ns);
}

#define TAKE(clocks, bytes) OK(take(clocks, bytes, sizeof bytes - 1))

/* -1: not known. */
static int64_t
boot(clocks *c, uint32_t id, int64_t value)
{
    int64_t time;
    return fd_perfetto_clocks_boot(&c->all, &c->own, id, value, &time) ? time
                                                                       : -1;
}

/* Clock 200 of the trace has two snapshots at the start: 100 is boot time 1000,
 * 150 is 1040. Clock 64 of a sequence refers to it: 5 is 110. */
static void
a_stair(void)
{
    CLEAN(clocks_clear) clocks c = {.has_base = false};
    TAKE(&c, "\x0A\x05\x08\xC8\x01\x10\x64\x0A\x05\x08\x06\x10\xE8\x07");
    TAKE(&c, "\x0A\x06\x08\xC8\x01\x10\x96\x01"
             "\x0A\x05\x08\x06\x10\x90\x08");
    TAKE(&c, "\x0A\x06\x08\x40\x10\x05\x18\x01\x0A\x05\x08\xC8\x01\x10\x6E");
    EQUAL(boot(&c, 64, 5), 1015);
    EQUAL(boot(&c, 64, 40), 1045);
    EQUAL(boot(&c, 200, 149), 1049);
    EQUAL(boot(&c, 200, 150), 1040);
    EQUAL(boot(&c, 200, 90), 990); /* before all */
    /* From 120 on anew: 2000. */
    TAKE(&c, "\x0A\x05\x08\xC8\x01\x10\x78\x0A\x05\x08\x06\x10\xD0\x0F");
    EQUAL(boot(&c, 200, 119), 1019);
    EQUAL(boot(&c, 200, 150), 2030);
    EQUAL(boot(&c, 64, 0), 2035);
    CHECK(!c.has_base);
}

/* A clock in microseconds, real time, and a snapshot that says nothing of what
 * is known. */
static void
units_and_base(void)
{
    CLEAN(clocks_clear) clocks c = {.has_base = false};
    TAKE(&c, "\x0A\x06\x08\x41\x10\x64\x20\x0A\x0A\x04\x08\x42\x10\x07");
    EQUAL(boot(&c, 65, 101), -1);
    STATUS(take(&c, "\x0A\x05\x08", 3), FD_EFORMAT);
    TAKE(&c, "\x0A\x07\x08\x41\x10\x64\x20\xE8\x07"
             "\x0A\x05\x08\x01\x10\x88\x27\x0A\x05\x08\x06\x10\xE8\x07");
    EQUAL(boot(&c, 65, 102), 3000);
    EQUAL(boot(&c, FD_PB_REALTIME, 5001), 1001);
    EQUAL(boot(&c, 0, 7), 7);
    CHECK(c.has_base);
    EQUAL(c.base_ns, 4000);
}

RUN(TEST(a_stair), TEST(units_and_base))
