#include "check.h"
#include "plans.h"

#include "pipeline/plan_comparison.h"

typedef FD_VECTOR(fd_executed) executed_list;

static void
clear(executed_list *list)
{
    fd_vector_clear(list);
}

static fd_status
push(executed_list *list, fd_job_kind kind, int16_t stage, int32_t mb,
     int32_t buffer)
{
    fd_executed made = {.kind = (uint8_t)kind,
                        .unplanned = true,
                        .stage = stage,
                        .micro_batch = mb,
                        .buffer = buffer};
    return fd_vector_push(list, made);
}

/* What the plan says, as if it had run. */
static fd_status
carry_out(executed_list *list, const fd_plan *plan, uint32_t stage)
{
    fd_status status = FD_OK;
    for (uint32_t i = plan->first[stage];
         i < plan->first[stage + 1] && status == FD_OK; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        status = push(list, (fd_job_kind)job->kind, job->stage,
                      job->micro_batch, job->buffer);
    }
    return status;
}

static uint32_t
unplanned(const executed_list *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += list->list[i].unplanned;
    }
    return count;
}

static void
plans_match_their_names(void)
{
    static const char *const names[] = {"deepspeed-train",
                                        "deepspeed-inference",
                                        "gpipe",
                                        "1f1b",
                                        "interleaved",
                                        "zb-h1",
                                        "zb-v"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PLAN(plan, names[i], 3, 6);
        for (uint32_t stage = 0; stage < 3; stage++) {
            CLEAN(clear) executed_list ran = {NULL, 0, 0};
            char text[100];
            OK(carry_out(&ran, &plan, stage));
            OK(fd_executed_compare(ran.list, ran.count, &plan, stage, text,
                                   sizeof text));
            SAME(text, "");
            EQUAL(unplanned(&ran), 0);
        }
    }
}

static void
an_instruction_too_many(void)
{
    PLAN(plan, "deepspeed-train", 2, 4);
    CLEAN(clear) executed_list ran = {NULL, 0, 0};
    char text[100];
    OK(push(&ran, FD_JOB_LM, 0, 0, 0));
    OK(push(&ran, FD_JOB_LM, 0, 1, 1));
    OK(carry_out(&ran, &plan, 0));
    OK(fd_executed_compare(ran.list, ran.count, &plan, 0, text, sizeof text));
    SAME(text, "stage 0, job 2: ran LM of micro-batch 1 in buffer 1, planned "
               "F of micro-batch 0 in buffer 0");
    EQUAL(unplanned(&ran), 2); /* the two until it agrees again */
    CHECK(!ran.list[0].unplanned);
    CHECK(!ran.list[3].unplanned);
}

static void
one_too_few(void)
{
    PLAN(plan, "deepspeed-train", 2, 4);
    CLEAN(clear) executed_list ran = {NULL, 0, 0};
    char text[100];
    OK(carry_out(&ran, &plan, 1));
    ran.count--;
    OK(fd_executed_compare(ran.list, ran.count, &plan, 1, text, sizeof text));
    SAME(text, "stage 1, job 23: ran nothing, planned OPT");
    EQUAL(unplanned(&ran), 0);
}

/* Other engines post transfers when they like, and have loads and reductions
 * that are in no plan. */
static void
permitted_differences(void)
{
    PLAN(plan, "1f1b", 2, 2);
    CLEAN(clear) executed_list ran = {NULL, 0, 0};
    char text[100];
    for (int32_t mb = 0; mb < 2; mb++) {
        OK(push(&ran, FD_JOB_RA, 1, mb, -1));
    }
    for (int32_t mb = 0; mb < 2; mb++) {
        OK(push(&ran, FD_JOB_LM, 1, mb, -1));
        OK(push(&ran, FD_JOB_F, 1, mb, -1));
        OK(push(&ran, FD_JOB_I, 1, mb, -1));
        OK(push(&ran, FD_JOB_SG, 1, mb, -1));
        OK(push(&ran, FD_JOB_W, 1, mb, -1)); /* I and W are B */
    }
    OK(push(&ran, FD_JOB_RD, 1, -1, -1));
    OK(fd_executed_compare(ran.list, ran.count, &plan, 1, text, sizeof text));
    SAME(text, "");
    EQUAL(unplanned(&ran), 0);
}

static void
another_order(void)
{
    PLAN(plan, "1f1b", 1, 2);
    CLEAN(clear) executed_list ran = {NULL, 0, 0};
    char text[100];
    OK(push(&ran, FD_JOB_F, 0, 0, -1));
    OK(push(&ran, FD_JOB_F, 0, 1, -1));
    OK(push(&ran, FD_JOB_B, 0, 0, -1));
    OK(push(&ran, FD_JOB_B, 0, 1, -1));
    OK(fd_executed_compare(ran.list, ran.count, &plan, 0, text, sizeof text));
    SAME(text, "stage 0, job 2: ran F of micro-batch 1, planned B of "
               "micro-batch 0");
    CHECK(ran.list[1].unplanned);
    CHECK(!ran.list[0].unplanned);
    CHECK(!ran.list[2].unplanned);
}

RUN(ABSORBS(plans_match_their_names), ABSORBS(an_instruction_too_many),
    ABSORBS(one_too_few), ABSORBS(permitted_differences),
    ABSORBS(another_order))
