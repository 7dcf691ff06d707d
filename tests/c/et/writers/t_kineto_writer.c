#include "traces.h"

#include "fixtures.h"

#include "et/tools/link_files.h"

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
    et->nodes.list[fd_et_index(et, 7) - 1].fw_parent = 5;
    et->nodes.list[fd_et_index(et, 20) - 1].flags &= (uint8_t)~FD_ET_TIMED;
    return FD_OK;
}

static void
written(void)
{
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    OK(recorded(&et));
    OK(fd_et_save_kineto(&et, "k.json", NULL));
    OK(fixture_read("k.json", &file));
    CHECK(fixture_holds(&file, "\n\"rank\": 1,\n\"world_size\":2"));
    CHECK(fixture_holds(&file, "\"ranks\":[0,1]"));
    CHECK(fixture_holds(&file, "\"baseTimeNanoseconds\":1688849860263936,"));
    CHECK(fixture_holds(&file,
                        "\"name\":\"ProfilerStep#0\",\"pid\":7,\"tid\":70,"
                        "\"ts\":1.500"));
    CHECK(fixture_holds(
        &file, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::linear\","
               "\"pid\":7,\"tid\":70,\"ts\":6.500,\"dur\":10.000,"
               "\"args\":{\"External id\":104,\"Record function id\":"
               "104,\"Ev Idx\":"));
    CHECK(fixture_holds(&file, "\"cat\":\"fwdbwd\""));
    CHECK(fixture_holds(&file, "\"Collective name\":\"ALL_REDUCE\""));
    CHECK(fixture_holds(
        &file, "\"cat\":\"kernel\",\"name\":\"fastdispatch stand-in: no "
               "kernel ran\""));
    CHECK(fixture_holds(&file, "\"fd_stand_in\":true"));
    CHECK(!fixture_holds(&file, "c10d::send")); /* it has not ended */
    CHECK(!fixture_holds(&file, "thread]"));
}

/* The first call was on a GPU, on two streams of device 2. */
static fd_status
recorded_on_gpu(fd_et *et)
{
    fd_status status = recorded(et);
    uint32_t call = fd_et_index(et, 5) - 1;
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        fd_et_node *node = fd_et_add(et);
        if (node == NULL) {
            return FD_ENOMEM;
        }
        uint32_t attrs = node->attrs;
        *node = et->nodes.list[call];
        node->parent_id = 5;
        node->id = (uint64_t)(50 + i);
        node->flags = FD_ET_GPU | FD_ET_TIMED;
        node->start_ns += 2000;
        node->dur_ns = 700;
        node->stream = i;
        node->device = 2;
        node->thread = 0;
        node->attrs = attrs;
        fd_et_attr at = {.field = 9,
                         .number = (uint64_t)node->start_ns - 1000};
        status =
            fd_text_pool_add_clean(&et->texts, "fd_launch_ns", 12, &at.name);
        if (status == FD_OK) {
            status = fd_et_add_attr(et, node, at);
        }
        if (status == FD_OK) {
            status = fd_text_pool_add_clean(&et->texts, "k", 1, &node->name);
        }
    }
    et->unlinked = true;
    return status == FD_OK ? fd_et_finish(et) : status;
}

static void
kernels(void)
{
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    OK(recorded_on_gpu(&et));
    OK(fd_et_save_kineto(&et, "g.json", NULL));
    OK(fixture_read("g.json", &file));
    CHECK(fixture_holds(&file,
                        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,"
                        "\"tid\":0,"));
    CHECK(fixture_holds(&file,
                        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                        "\"cudaLaunchKernel\",\"pid\":7,\"tid\":70,\"ts\":"
                        "12.500,\"dur\":0.000,\"args\":{\"External id\":105,"
                        "\"correlation\":16777217,"
                        "\"fd_timing\":\"cuda_event\"}}"));
    CHECK(fixture_holds(
        &file, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
               "\"pid\":2,\"tid\":1,\"ts\":13.500,\"dur\":0.700,"
               "\"args\":{\"External id\":105,\"correlation\":16777218,"
               "\"fd_timing\":\"cuda_event\",\"device\":2,"
               "\"context\":1,\"stream\":1}}"));
    CHECK(fixture_holds(&file,
                        "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\","
                        "\"id\":16777218,\"pid\":2,\"tid\":1,\"ts\":13.500,"
                        "\"bp\":\"e\"}"));
    CHECK(!fixture_holds(&file, "stand_in: no kernel ran"));
    CHECK(!fixture_holds(&file,
                         "\"cat\":\"kernel\",\"name\":\"fastdispatch stand"));
}

/* PyTorch's form leaves kernels to the Kineto trace, and both linked have
 * them, on their device and stream. */
static void
kernels_linked(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    CLEAN(fd_kineto_clear) fd_kineto k = {.events = 0};
    fd_et_link link;
    OK(recorded_on_gpu(&et));
    OK(fd_et_save(&et, "h.json", false, NULL));
    OK(fd_et_save_kineto(&et, "l.json", NULL));
    OK(fd_et_link_files(&again, "h.json", "l.json",
                        (fd_et_link_options){FD_ET_ALL_KINDS, false}, &link,
                        &k, NULL));
    EQUAL(link.kernels, 2);
    EQUAL(link.alone + link.by_external, 0);
    EQUAL(again.nodes.count, et.nodes.count);
    uint32_t found = 0;
    for (uint32_t i = 0; i < again.nodes.count; i++) {
        const fd_et_node *node = &again.nodes.list[i];
        if ((node->flags & FD_ET_GPU) != 0) {
            EQUAL(node->device, 2);
            EQUAL(node->stream, (int32_t)found);
            EQUAL(node->dur_ns, 700);
            found++;
        }
    }
    EQUAL(found, 2);
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
    OK(fd_et_link_files(&again, "e.json", "k.json.gz",
                        (fd_et_link_options){FD_ET_ALL_KINDS, false}, &link,
                        &k, NULL));
    EQUAL(link.linked + 3, nodes); /* two roots, and what has not ended */
    EQUAL(link.renamed + link.only_kineto + link.alone, 0);
    EQUAL(link.unnumbered, 1); /* the step */
    EQUAL(link.kernels, 1);
    EQUAL(again.rank, 1);
    EQUAL(again.nodes.count, nodes + 1);
}

RUN(TEST(written), TEST(kernels), TEST(kernels_linked), TEST(linked))
