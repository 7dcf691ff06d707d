#include "traces.h"

#include "fixtures.h"

#include "et/link.h"

#include <string.h>

/* traces_small as a recording of rank 1 of 2 has it, a call a microsecond. */
static fd_status
recorded(fd_et *et)
{
    fd_status status = traces_loaded(et);
    if (status != FD_OK) {
        return status;
    }
    et->rank = 1;
    et->world = 2;
    et->groups.list[0].ranks = 0;
    int64_t at = (INT64_C(3) << 49) + 1500;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[i];
        if ((node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) == 0) {
            node->flags |= FD_ET_TIMED;
            node->start_ns = at;
            node->dur_ns = node->id == 4 || node->id == 8 ? 10000 : 4000;
            node->thread = 70;
            node->step = 1;
            node->rf_id = node->id + 100;
            node->scope = node->schema == 0 ? 7 : 0;
            at += 5000;
        }
    }
    et->nodes.list[fd_et_place(et, 7) - 1].fw_parent = 5;
    et->nodes.list[fd_et_place(et, 20) - 1].flags &= (uint8_t)~FD_ET_TIMED;
    return FD_OK;
}

static bool
holds(const fd_buffer *file, const char *text)
{
    return memmem(file->bytes, file->size, text, strlen(text)) != NULL;
}

static void
written(void)
{
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    OK(recorded(&et));
    OK(fd_et_save_kineto(&et, "k.json", NULL));
    OK(fixture_read("k.json", &file));
    CHECK(holds(&file, "\n\"rank\": 1,\n\"world_size\":2"));
    CHECK(holds(&file, "\"ranks\":[0,1]"));
    CHECK(holds(&file, "\"baseTimeNanoseconds\":1688849860263936,"));
    CHECK(holds(&file, "\"name\":\"ProfilerStep#0\",\"pid\":7,\"tid\":70,"
                       "\"ts\":1.500"));
    CHECK(holds(&file, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::linear\","
                       "\"pid\":7,\"tid\":70,\"ts\":6.500,\"dur\":10.000,"
                       "\"args\":{\"External id\":104,\"Record function id\":"
                       "104,\"Ev Idx\":"));
    CHECK(holds(&file, "\"cat\":\"fwdbwd\""));
    CHECK(holds(&file, "\"Collective name\":\"ALL_REDUCE\""));
    CHECK(holds(&file, "\"cat\":\"kernel\",\"name\":\"fastdispatch stand-in: no "
                       "kernel ran\""));
    CHECK(holds(&file, "\"fd_stand_in\":true"));
    CHECK(!holds(&file, "c10d::send")); /* it has not ended */
    CHECK(!holds(&file, "thread]"));
}

/* What we write we link. */
static void
linked(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    CLEAN(fd_kineto_clear) fd_kineto k = {.events = 0};
    fd_et_link link;
    OK(recorded(&et));
    uint32_t nodes = et.nodes.count;
    OK(fd_et_save(&et, "e.json", false, NULL));
    OK(fd_et_save_kineto(&et, "k.json.gz", NULL));
    OK(fd_et_link_files(&again, "e.json", "k.json.gz", FD_ET_ALL_KINDS, &link,
                        &k, NULL));
    EQUAL(link.linked + 3, nodes); /* two roots, and what has not ended */
    EQUAL(link.renamed + link.only_kineto + link.alone, 0);
    EQUAL(link.unnumbered, 1); /* the step */
    EQUAL(link.kernels, 1);
    EQUAL(again.rank, 1);
    EQUAL(again.nodes.count, nodes + 1);
}

RUN(TEST(written), TEST(linked))
