#include "check.h"
#include "spans.h"

#include "events/stats/gpu_facts.h"

static void
arguments(void)
{
    fd_gpu_facts facts;
    fd_timeline_event event = {
        .args = span("{\"device\":0,\"stream\":7,\"correlation\":\"12\","
                     "\"bytes\":4000,\"memory bandwidth (GB/s)\":2.5}")};
    fd_gpu_facts_read(&event, &facts);
    EQUAL(facts.correlation, 12);
    EQUAL(facts.device, 0);
    EQUAL(facts.stream, 7);
    CHECK(facts.has_bytes);
    EQUAL(facts.bytes, 4000);
    EQUAL(facts.bandwidth, 2500000000);
}

static void
missing_arguments(void)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "{\"stream\":-1}",
                                        "{\"bytes\":-4,\"device\":\"x\"}",
                                        "{\"memory bandwidth (GB/s)\":-1}",
                                        "{\"memory bandwidth (GB/s)\":1e99}"};
    fd_gpu_facts facts;
    for (size_t i = 0; i <= sizeof texts / sizeof *texts; i++) {
        fd_timeline_event event = {.args = {NULL, NULL}};
        if (i > 0) {
            event.args = span(texts[i - 1]);
        }
        fd_gpu_facts_read(&event, &facts);
        EQUAL(facts.correlation, 0);
        CHECK(facts.device == FD_NO_STREAM && facts.stream == FD_NO_STREAM);
        CHECK(!facts.has_bytes && facts.bandwidth == 0);
    }
}

static void
kinds_of_copies(void)
{
    static const struct {
        const char *name;
        const char *kind;
    } cases[] = {{"Memcpy HtoD (Pinned -> Device)", "HtoD"},
                 {"Memcpy DtoH (Device -> Pageable)", "DtoH"},
                 {"Memcpy DtoD (Device -> Device)", "DtoD"},
                 {"Memcpy PtoP (Device -> Device)", "PtoP"},
                 {"Memset (Device)", "memset"},
                 {"CopyDeviceToHost", "DtoH"},
                 {"FillBuffer", "memset"},
                 {"Memcpy", "other"},
                 {"", "other"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SAME(fd_copy_kind_name(fd_copy_kind_of(span(cases[i].name))),
             cases[i].kind);
    }
}

static void
rates(void)
{
    EQUAL(fd_bytes_per_second(3, 2), 1500000000);
    EQUAL(fd_bytes_per_second(UINT64_MAX, 1), UINT64_MAX / 2);
}

static void
bytes_and_bandwidths(void)
{
    CLEAN(fd_copies_clear) fd_copies copies = {.rows = {.count = 0}};
    fd_gpu_facts facts = {
        .has_bytes = true, .bytes = 1000, .copy = FD_COPY_HTOD};
    OK(fd_copies_add(&copies, 0, &facts, 500));
    facts.bandwidth = 4000000000; /* as the profiler computed it */
    OK(fd_copies_add(&copies, 0, &facts, 500));
    facts.bandwidth = 0;
    OK(fd_copies_add(&copies, 0, &facts, 0)); /* too short to be timed */
    facts.has_bytes = false;
    facts.bytes = 0;
    OK(fd_copies_add(&copies, 0, &facts, 100));
    facts.copy = FD_COPY_MEMSET;
    OK(fd_copies_add(&copies, 0, &facts, 100));
    OK(fd_copies_add(&copies, 1, &facts, 100));
    EQUAL(copies.rows.count, 3);
    const fd_copy_row *row = &copies.rows.list[0];
    EQUAL(row->bytes, 3000);
    EQUAL(row->unsized, 1);
    EQUAL(row->timed_bytes, 2000);
    EQUAL(row->timed, 1000);
    EQUAL(row->time.total, 1100);
    EQUAL(row->rate.count, 2);
    EQUAL(row->rate.least, 2000000000);
    EQUAL(row->rate.most, 4000000000);
}

RUN(TEST(arguments), TEST(missing_arguments), TEST(kinds_of_copies),
    TEST(rates), TEST(bytes_and_bandwidths))
