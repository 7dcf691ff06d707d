#include "check.h"
#include "fixtures.h"

#include "trace/fact_changes.h"

static void
change_to(const char *json, const char *expected)
{
    static const fd_fact_change changes[] = {{"schedule", "gpipe"},
                                             {"note", "no \"plan\""}};
    CLEAN(fixture_trace_free) fd_trace *trace = fd_trace_new();
    OK(trace != NULL ? FD_OK : FD_ENOMEM);
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    OK(rank != NULL ? FD_OK : FD_ENOMEM);
    OK(fixture_fact(trace, rank, "pipeline", json));
    OK(fd_rank_change_fact(trace, rank, "other", changes, 2));
    SAME(fd_rank_fact(trace, rank, "pipeline"), json);
    OK(fd_rank_change_fact(trace, rank, "pipeline", changes, 2));
    SAME(fd_rank_fact(trace, rank, "pipeline"), expected);
}

static void
members_that_it_has(void)
{
    change_to("{\"a\":[1,2.5],\"schedule\":null,\"note\":7}",
              "{\"a\":[1,2.5],\"schedule\":\"gpipe\","
              "\"note\":\"no \\\"plan\\\"\"}");
    change_to("{\"a\":null}", "{\"a\":null}");
}

static void
other_values_stay(void)
{
    change_to("7", "7");
    change_to("{\"schedule\":", "{\"schedule\":");
}

RUN(TEST(members_that_it_has), TEST(other_values_stay))
