#include "chains.h"

#include "pipeline/planner/local_search.h"

#include <math.h>

static void
climbing(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_evaluator_clear) fd_evaluator evaluator = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain chain = {.count = 0};
    OK(chained_make(&c, 3));
    OK(chained_evaluator(&evaluator, &c));
    OK(fd_chain_make(&chain, evaluator.most_parts));
    chain.ranks = chain.count = 2;
    chain.ends[0] = 2;
    chain.ends[1] = 3;
    chain.machines[0] = 1;
    chain.machines[1] = 2;
    OK(fd_local_search(&evaluator, &chain, 1000));
    /* 4 ms on two machines and 4 on one: 4 times 4 after a transfer of 2. */
    CHECK(chain.time < 0.0181);
    EQUAL(chain.ends[0], 0);
    EQUAL(chain.machines[0] + chain.machines[1], 3);
    CHECK(evaluator.simulated > 0);
}

static void
limits_are_kept(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_evaluator_clear) fd_evaluator evaluator = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain chain = {.count = 0};
    fd_compiled *compiled = NULL;
    OK(chained_make(&c, 2));
    OK(chained_evaluator(&evaluator, &c));
    OK(fd_chain_make(&chain, evaluator.most_parts));
    OK(fd_evaluator_schedule(&evaluator, 2, &compiled));
    chain.ranks = chain.count = 2;
    chain.ends[0] = 1;
    chain.ends[1] = 3;
    chain.machines[0] = chain.machines[1] = 1;
    CHECK(isfinite(fd_evaluator_time(&evaluator, compiled, &chain)));
    evaluator.forbidden = 1;
    CHECK(isinf(fd_evaluator_time(&evaluator, compiled, &chain)));
    evaluator.forbidden = FD_NO_STATE;
    c.costs.memory = FD_MEMORY_FLUSHED;
    c.costs.capacity = 7999;
    /* Two layers of 1000 bytes: weights and gradients, and twice in flight. */
    CHECK(isinf(fd_evaluator_time(&evaluator, compiled, &chain)));
    c.costs.capacity = 8000;
    CHECK(isfinite(fd_evaluator_time(&evaluator, compiled, &chain)));
    fd_evaluator other = {.schedule = FD_SCHEDULE_DEEPSPEED_TRAIN};
    STATUS(fd_evaluator_make(&other, NULL), FD_EINVAL);
}

RUN(TEST(climbing), TEST(limits_are_kept))
