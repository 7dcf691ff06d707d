#include "check.h"
#include "plans.h"

#include "pipeline/schedules/plan_text.h"

#include <cjson/cJSON.h>
#include <string.h>

static void
free_json(cJSON **json)
{
    cJSON_Delete(*json);
}

static void
document(void)
{
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(plan_of(&plan, "deepspeed-train", 2, 2));
    fd_plan_json(&plan, "{\"makespan\":9}", &text);
    OK(text.status);
    CLEAN(free_json)
    cJSON *json = cJSON_ParseWithLength(text.bytes, text.size);
    CHECK(json != NULL);
    SAME(cJSON_GetObjectItem(json, "schedule")->valuestring,
         "deepspeed-train");
    EQUAL(cJSON_GetObjectItem(json, "steps")->valueint, plan.steps);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(json, "group")));
    const cJSON *figures = cJSON_GetObjectItem(json, "figures");
    EQUAL(cJSON_GetObjectItem(figures, "makespan")->valueint, 9);
    const cJSON *stage =
        cJSON_GetArrayItem(cJSON_GetObjectItem(json, "plan"), 1);
    SAME(cJSON_GetObjectItem(stage, "table")->valuestring,
         "-|RA0 LM0 F0|B0|SG0 RA1 LM1 F1|B1|SG1 RT RD OPT");
    const cJSON *steps = cJSON_GetObjectItem(stage, "steps");
    EQUAL(cJSON_GetArraySize(steps), 6);
    EQUAL(cJSON_GetArraySize(cJSON_GetArrayItem(steps, 0)), 0);
    const cJSON *job = cJSON_GetArrayItem(cJSON_GetArrayItem(steps, 1), 0);
    SAME(cJSON_GetObjectItem(job, "kind")->valuestring, "RA");
    EQUAL(cJSON_GetObjectItem(job, "peer")->valueint, 0);
    job = cJSON_GetArrayItem(cJSON_GetArrayItem(steps, 5), 1);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(job, "mb")));
}

static void
chunks(void)
{
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(plan_of(&plan, "interleaved", 2, 2));
    const char *got = plan_table(&plan, 0, &text);
    OK(text.status);
    SAME(got, "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
    text.size = 0;
    fd_plan_json(&plan, "{}", &text);
    fd_buffer_bytes(&text, "", 1);
    OK(text.status);
    CHECK(strstr(text.bytes, "\"chunks\":2,\"group\":2,\"steps\":8,") != NULL);
    CHECK(strstr(text.bytes,
                 "{\"kind\":\"F\",\"stage\":2,\"chunk\":1,\"mb\":0,"
                 "\"buffer\":null,\"peer\":null}")
          != NULL);
}

RUN(TEST(document), TEST(chunks))
