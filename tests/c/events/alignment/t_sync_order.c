#include "check.h"
#include "timelines.h"

#include "events/alignment/sync_events.h"

#include <string.h>

static fd_status
take_world(fd_timeline_sync *sync, const char *text)
{
    static const char key[] = "distributedInfo";
    return fd_timeline_sync_member(sync, (fd_span){key, key + sizeof key - 1},
                                   (fd_span){text, text + strlen(text)});
}

#define SLICE(name, ts) \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":2}"

/* PyTorch records no peers without shapes. */
static const char *const unnamed[] = {
    SLICE("c10d::send", 5), SLICE("c10d::recv_", 8), SLICE("gloo:recv", 9),
    SLICE("c10d::recv_", 12), SLICE("gloo:recv", 13)};

static void
two_ranks(void)
{
    CLEAN(fd_timeline_sync_clear) fd_timeline_sync sync = {.has_boot = false};
    OK(fixture_sync(&sync, unnamed, sizeof unnamed / sizeof *unnamed));
    OK(take_world(&sync, "{\"rank\":1,\"world_size\":2}"));
    OK(fd_timeline_sync_settle(&sync, 100));
    EQUAL(sync.messages.count, 3);
    const fd_timeline_message *list = sync.messages.list;
    CHECK(list[0].peer == 0 && !list[0].received && list[0].time == 5000);
    CHECK(list[1].peer == 0 && list[1].received && list[1].time == 11000);
    CHECK(list[2].order == 1 && list[2].total == 2);
}

static void
unknown_peers(void)
{
    static const char *const worlds[] = {
        "{\"rank\":1,\"world_size\":4}", "{\"rank\":2,\"world_size\":2}",
        "{\"rank\":1}", "{\"world_size\":2}", "7"};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        CLEAN(fd_timeline_sync_clear)
        fd_timeline_sync sync = {.has_boot = false};
        OK(take_world(&sync, worlds[i]));
        OK(fixture_sync(&sync, unnamed, sizeof unnamed / sizeof *unnamed));
        OK(fd_timeline_sync_settle(&sync, 100));
        EQUAL(sync.messages.count, 0);
    }
}

RUN(TEST(two_ranks), TEST(unknown_peers))
