#include "fixtures.h"
#include "traces.h"

#include "et/readers/kineto_reader.h"

static fd_status
read_text(fd_kineto *k, fd_et *et, const char *text, fd_error *error)
{
    fd_status status = fixture_write_text("k.json", text);
    return fd_then(status, fd_kineto_read(k, et, "k.json", error));
}

TEST(all_kinds)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    fd_kineto k;
    OK(read_text(
        &k, &et,
        "{\"distributedInfo\": {\"rank\": 3, \"world_size\": 4, \"pg_config\":"
        " [{\"pg_name\": \"0\", \"pg_size\": 4}]}, \"host_name\": \"h\", "
        "\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\\n\","
        "\"pid\":1,\"tid\":5,\"ts\":1.5,\"dur\":2,\"args\":{\"External id\":7,"
        "\"Record function id\":8}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
        "\"ncclKernel\",\"ts\":9,\"dur\":3,\"args\":{\"stream\":20,"
        "\"correlation\":4,\"In msg nelems\":6,\"dtype\":\"Float\",\"Process "
        "Group Name\":\"0\"}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
        "\"cudaDeviceSynchronize\",\"tid\":\"main\",\"ts\":2,\"args\":"
        "{\"correlation\":4}},{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":"
        "\"Stream Wait Event\",\"ts\":2,\"args\":{\"stream\":7,"
        "\"wait_on_stream\":20,\"wait_on_cuda_event_record_corr_id\":3}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":\"bad\"},"
        "{\"ph\":\"i\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1}]}",
        NULL));
    FIELDS(&et, (rank, 3), (world, 4), (groups.count, 1));
    SAME(fd_et_text(&et, et.host), "h");
    EQUAL(k.ops.count, 1);
    FIELDS(&k.ops.list[0], (rf_id, 8), (external, 7), (start, 1500));
    SAME(fd_et_text(&et, k.ops.list[0].name), "a\n");
    EQUAL(k.kernels.count, 1);
    EQUAL(k.kernels.list[0].stream, 20);
    EQUAL(k.kernels.list[0].elements, 6);
    EQUAL(k.calls.count, 1);
    EQUAL(k.calls.list[0].wait, FD_KINETO_DEVICE);
    CHECK(k.calls.list[0].thread != 0);
    EQUAL(k.syncs.count, 1);
    EQUAL(k.syncs.list[0].source, 20);
    EQUAL(k.timeless, 1);
    EQUAL(k.events, 6);
}

TEST(none)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    fd_kineto k;
    fd_error error;
    STATUS(read_text(&k, &et, "{\"schema\": 1}", &error), FD_EFORMAT);
    SAME(error.text, "k.json: no Kineto trace: it has no traceEvents");
}
