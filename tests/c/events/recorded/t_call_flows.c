#include "check.h"
#include "fixtures.h"

#include "events/recorded/call_flows.h"

static void
by_the_slices_at_their_ends(void)
{
    NEW_TRACE(trace);
    CLEAN(fd_flows_clear) fd_flows flows = {.first = NULL};
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    OK(rank != NULL ? FD_OK : FD_ENOMEM);
    OK(fd_flows_make(&flows, rank));
    CHECK(flows.first == NULL);
    EQUAL(fd_flows_to(&flows, 0), 0);
    for (int i = 0; i < 4; i++) {
        OK(fd_vector_push(&rank->events, (fd_trace_event){.kind = 1}));
    }
    OK(fd_vector_push(&rank->flows, (fd_trace_flow){3, 2}));
    OK(fd_vector_push(&rank->flows, (fd_trace_flow){1, 3}));
    OK(fd_vector_push(&rank->flows, (fd_trace_flow){1, 0}));
    OK(fd_flows_make(&flows, rank));
    static const uint32_t count[] = {0, 2, 0, 1};
    uint32_t next = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t first;
        EQUAL(fd_flows_from(&flows, i, &first) - first, count[i]);
        EQUAL(first, next);
        next += count[i];
    }
    EQUAL(fd_flows_to(&flows, 0), 2);
    EQUAL(fd_flows_to(&flows, 1), 0);
    EQUAL(fd_flows_to(&flows, 2), 3);
    EQUAL(fd_flows_to(&flows, 3), 1);
}

RUN(TEST(by_the_slices_at_their_ends))
