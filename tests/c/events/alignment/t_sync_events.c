#include "check.h"
#include "timelines.h"

#include "events/alignment/sync_events.h"

#define SLICE(name, ts, args) \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"ts\":" #ts \
    ",\"dur\":2,\"args\":{" args "}}"
#define DIMS(n) "\"Input Dims\":[[" #n "]]"

#define FOUND(sync, texts) \
    CLEAN(fd_timeline_sync_clear) \
    fd_timeline_sync sync = {.begun_count = 0}; \
    OK(fixture_sync(&sync, texts, sizeof(texts) / sizeof *(texts)))

TEST(collectives)
{
    static const char *const texts[] = {
        SLICE("gloo:all_reduce", 9, DIMS(3)),
        SLICE("gloo:all_reduce", 5, DIMS(3)), /* threads are in any order */
        SLICE("gloo:all_reduce", 6, DIMS(4)),
        SLICE("gloo:broadcast", 1, DIMS(3)),
        SLICE("nccl:all_reduce", 1, ""), /* the launch */
        SLICE("ncclDevKernel_AllReduce_Sum_f32", 7,
              "\"Process Group Name\":\"3\",\"Seq\":41"),
        "{\"ph\":\"b\",\"name\":\"gloo:barrier\",\"ts\":2}",
        "{\"ph\":\"e\",\"name\":\"gloo:barrier\",\"ts\":4}",
        "{\"ph\":\"b\",\"name\":\"gloo:barrier\",\"ts\":2}",
        "{\"ph\":\"e\",\"name\":\"gloo:all_reduce\",\"ts\":4}",
        "{\"ph\":\"X\",\"name\":\"gloo:barrier\",\"ts\":\"x\",\"dur\":1}",
        "{\"ph\":\"X\",\"name\":\"gloo:barrier\",\"ts\":1,\"dur\":-1}",
        "{\"ph\":\"X\",\"name\":\"gloo:barrier\",\"ts\":1}",
        "{\"name\":7}",
    };
    FOUND(sync, texts);
    EQUAL(sync.begun_count, 1); /* a barrier without its end */
    EQUAL(sync.parts.count, 5);
    uint32_t certain = 0;
    for (uint32_t i = 0; i < 5; i++) {
        const fd_timeline_part *part = &sync.parts.list[i];
        EQUAL(part->end - part->begin, 2000);
        certain += part->exact && part->order == 41;
    }
    EQUAL(sync.parts.list[0].kind, sync.parts.list[1].kind);
    EQUAL(certain, 1);
}

#define PART(phase, lane, ts, name) \
    "{\"ph\":\"" #phase "\"," lane ",\"ts\":" #ts name "}"
#define REDUCE ",\"name\":\"gloo:all_reduce\""

TEST(separate_ends)
{
    static const char *const texts[] = {
        PART(B, "\"tid\":1", 10, REDUCE),
        PART(B, "\"tid\":1", 11, ",\"name\":\"inside\""),
        PART(B, "\"tid\":2", 11, ",\"name\":\"beside\""),
        PART(b, "\"id\":1", 20, REDUCE),
        PART(b, "\"id\":2", 21, REDUCE),
        PART(E, "\"tid\":2", 22, ""),
        PART(E, "\"tid\":1", 23, ""),
        PART(e, "\"id\":1", 24, REDUCE),
        PART(E, "\"tid\":1", 25, ""),
        PART(E, "\"tid\":1", 26, ""),
        PART(e, "\"id\":2", 27, REDUCE),
    };
    static const int64_t times[][2] = {{20, 24}, {10, 25}, {21, 27}};
    FOUND(sync, texts);
    FIELDS(&sync, (begun_count, 0), (parts.count, 3));
    for (uint32_t i = 0; i < 3; i++) {
        EQUAL(sync.parts.list[i].begin, times[i][0] * 1000);
        EQUAL(sync.parts.list[i].end, times[i][1] * 1000);
    }
}

/* A receive whose end is that of the back end's range inside, and another around
 * a collective. */
TEST(messages_in_pairs)
{
    static const char *const texts[] = {
        PART(B, "\"tid\":1", 5,
             ",\"name\":\"c10d::send\",\"args\":{"
             "\"Concrete Inputs\":[\"\",\"\",\"1\",\"7\"]}"),
        PART(B, "\"tid\":2", 6,
             ",\"name\":\"c10d::recv_\",\"args\":{"
             "\"Concrete Inputs\":[\"\",\"\",\"2\",\"7\"]}"),
        PART(B, "\"tid\":2", 7, ",\"name\":\"gloo:recv\""),
        PART(E, "\"tid\":1", 8, ""),
        PART(B, "\"tid\":2", 9, ",\"name\":\"inside\""),
        PART(E, "\"tid\":2", 10, ""),
        PART(E, "\"tid\":2", 11, ""),
        PART(E, "\"tid\":2", 12, ""),
        PART(B, "\"tid\":2", 13, ",\"name\":\"gloo:recv\""), /* no peer */
        PART(E, "\"tid\":2", 14, ""),
        PART(B, "\"tid\":2", 40, ",\"name\":\"recv\",\"args\":{\"peer\":3}"),
        PART(B, "\"tid\":2", 41, REDUCE),
        PART(E, "\"tid\":2", 43, ""),
        PART(E, "\"tid\":2", 44, ""),
        PART(B, "\"tid\":2", 50, ",\"name\":\"recv\",\"args\":{\"peer\":4}"),
        PART(E, "\"tid\":2", 49, ""), /* before it began */
    };
    FOUND(sync, texts);
    FIELDS(&sync, (begun_count, 0), (parts.count, 1),
           (parts.list[0].end, 43000), (messages.count, 3));
    const fd_timeline_message *list = sync.messages.list;
    CHECK(list[0].peer == 1 && !list[0].received && list[0].time == 5000);
    CHECK(list[1].peer == 2 && list[1].received && list[1].time == 11000);
    CHECK(list[2].peer == 3 && list[2].received && list[2].time == 44000);
}

TEST(messages)
{
    static const char *const texts[] = {
        SLICE("c10d::send", 5, "\"Concrete Inputs\":[\"\",\"\",\"1\",\"7\"]"),
        SLICE("c10d::recv_", 8, "\"Concrete Inputs\":[\"\",\"\",\"2\",\"7\"]"),
        SLICE("gloo:recv", 9, ""),
        SLICE("gloo:recv", 20, ""), /* no peer */
        SLICE("c10d::send", 5, "\"Concrete Inputs\":[\"\"]"),
        SLICE("c10d::send", 5, "\"Concrete Inputs\":7"),
        SLICE("send_forward", 30, "\"peer\":3,\"micro_batch\":2"),
        SLICE("recv_forward", 40, "\"peer\":3,\"micro_batch\":2"),
        SLICE("recv_forward", 50, "\"peer\":-3"),
        SLICE("recv_forward", 60, ""),
    };
    FOUND(sync, texts);
    EQUAL(sync.messages.count, 4);
    const fd_timeline_message *list = sync.messages.list;
    CHECK(list[0].peer == 1 && !list[0].received && list[0].time == 5000);
    CHECK(list[1].peer == 2 && list[1].received && list[1].time == 11000);
    CHECK(list[2].peer == 3 && !list[2].received && list[2].time == 30000);
    CHECK(list[3].peer == 3 && list[3].received && list[3].time == 42000);
    CHECK(list[2].tag == list[3].tag);
}

/* PyTorch adds the peer to kernels, also without shapes. */
TEST(messages_of_kernels)
{
    static const char *const texts[] = {
        SLICE("ncclDevKernel_SendRecv", 5,
              "\"Collective name\":\"send\",\"Dst Rank\":3"),
        SLICE("ncclKernel_SendRecv", 9,
              "\"Collective name\":\"recv\",\"Src Rank\":2"),
        SLICE("ncclDevKernel_SendRecv", 1,
              "\"Collective name\":\"all_to_all\""),
        SLICE("ncclDevKernel_SendRecv", 1, "\"Dst Rank\":-1"),
        SLICE("nccl:send 0->3", 4, "\"Dst Rank\":3"), /* the launch */
    };
    FOUND(sync, texts);
    FIELDS(&sync, (parts.count, 0), (messages.count, 2));
    for (uint32_t i = 0; i < 2; i++) {
        const fd_timeline_message *message = &sync.messages.list[i];
        EQUAL(message->peer, message->received ? 2 : 3);
        EQUAL(message->time, message->received ? 11000 : 5000);
    }
}
