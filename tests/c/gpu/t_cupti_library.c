#include "check.h"

#include "gpu/cupti_library.h"
#include "recording/gpu_format.h"
#include "standin/cupti.h"

#include <string.h>

TEST(finds_the_loaded_library)
{
    standin_cupti_reset();
    fd_cupti cupti;
    OK(fd_cupti_find(&cupti, NULL));
    SAME(cupti.library, "libcupti.so.13");
    EQUAL(cupti.number, 130001);
    CHECK(cupti.subscribe_named != NULL);
}

/* A version without known records, or an error, is refused. */
TEST(refuses_other_versions)
{
    static const uint32_t numbers[] = {28, 120000, 130600, 140000, 18, 21};
    fd_cupti cupti;
    fd_error error = {""};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        standin_cupti_reset();
        standin_cupti_version(numbers[i]);
        STATUS(fd_cupti_find(&cupti, &error), FD_EINVAL);
    }
    SAME(error.text, "libcupti.so.13 is older than that of CUDA 12.4");
    standin_cupti_version(140100);
    STATUS(fd_cupti_find(&cupti, &error), FD_EINVAL);
    SAME(error.text, "libcupti.so.13 of CUDA 14.1 is newer than this version "
                     "of fastdispatch, which knows CUDA 13.5");
    standin_cupti_reset();
    standin_cupti_version(22);
    OK(fd_cupti_find(&cupti, NULL));
    standin_cupti_fail("cuptiGetVersion", 15);
    STATUS(fd_cupti_find(&cupti, &error), FD_EINVAL);
    SAME(error.text, "libcupti.so.13: its version is not known (error 15)");
}

static void
launched(void *user, int domain, uint32_t function, const void *call)
{
    (void)user;
    (void)domain;
    (void)function;
    (void)call;
}

TEST(names_the_holder)
{
    standin_cupti_reset();
    fd_cupti cupti;
    void *subscriber;
    char holder[64];
    OK(fd_cupti_find(&cupti, NULL));
    standin_cupti_hold("Nsight");
    EQUAL(fd_cupti_subscribe(&cupti, &subscriber, launched, holder),
          FD_CUPTI_TAKEN);
    SAME(holder, "Nsight");
    cupti.subscribe_named = NULL; /* before CUDA 13 */
    EQUAL(fd_cupti_subscribe(&cupti, &subscriber, launched, holder),
          FD_CUPTI_TAKEN);
    SAME(holder, "");
    standin_cupti_hold(NULL);
    EQUAL(fd_cupti_subscribe(&cupti, &subscriber, launched, holder), 0);
    uint32_t enabled = fd_cupti_listen(&cupti, subscriber);
    CHECK(enabled > 30);
    EQUAL(fd_launch_function_at(enabled), 0);
    standin_cupti_fail("cuptiEnableCallback", 1);
    EQUAL(fd_cupti_listen(&cupti, subscriber), 0);
    EQUAL(cupti.unsubscribe(subscriber), 0);
}

TEST(decodes_records)
{
    uint8_t record[216] = {FD_CUPTI_COPY};
    fd_cupti_record made;
    record[4] = 2;
    record[5] = 3;
    record[6] = 1;
    record[8] = 99;
    record[16] = 5;
    record[24] = 7;
    record[32] = 1;
    record[40] = 7;
    record[44] = 200;
    record[64] = 11;
    CHECK(fd_cupti_decode(record, 72, &made));
    FIELDS(&made, (kind, FD_CUPTI_COPY), (bytes, 99), (copy, 2), (from, 3),
           (to, 1));
    EQUAL(made.end - made.start, 2);
    FIELDS(&made, (device, 1), (stream, 7), (correlation, 200), (node, 11));
    CHECK(!fd_cupti_decode(record, 71, &made));
    CHECK(!fd_cupti_decode(record, 3, &made));
    record[0] = FD_CUPTI_KERNEL;
    const char *name = "kernel";
    memcpy(record + 104, &name, sizeof name);
    record[145] = 1;
    CHECK(fd_cupti_decode(record, 152, &made));
    EQUAL(made.node, 256);
    SAME(made.name, "kernel");
    EQUAL(made.bytes, 0);
    CHECK(!fd_cupti_decode(record, 151, &made));
    record[0] = 5; /* a call of the runtime */
    CHECK(!fd_cupti_decode(record, sizeof record, &made));
}

TEST(reads_calls)
{
    uint8_t call[72] = {0};
    call[64] = 42;
    bool begins;
    EQUAL(fd_cupti_launched(call, &begins), 42);
    CHECK(begins);
    call[0] = 1;
    EQUAL(fd_cupti_launched(call, &begins), 42);
    CHECK(!begins);
}
