#include "trace/fact_changes.h"

#include "json/json_text.h"

#include <cjson/cJSON.h>
#include <string.h>

static fd_status
replace_member(cJSON *fact, const fd_fact_change *change)
{
    cJSON *value = cJSON_CreateString(change->text);
    if (value == NULL
        || !cJSON_ReplaceItemInObjectCaseSensitive(fact, change->name,
                                                   value)) {
        cJSON_Delete(value);
        return FD_ENOMEM;
    }
    return FD_OK;
}

static fd_status
rewrite_fact(fd_trace *trace, fd_trace_meta *meta,
             const fd_fact_change *changes, uint32_t count)
{
    cJSON *fact = cJSON_Parse(fd_trace_text(trace, meta->json));
    fd_buffer spelled = {.bytes = NULL};
    fd_status status = FD_OK;
    if (!cJSON_IsObject(fact)) {
        cJSON_Delete(fact);
        return FD_OK;
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        if (cJSON_HasObjectItem(fact, changes[i].name)) {
            status = replace_member(fact, &changes[i]);
        }
    }
    char *text = status == FD_OK ? cJSON_PrintUnformatted(fact) : NULL;
    status = text != NULL ? FD_OK : FD_ENOMEM;
    if (status == FD_OK) {
        fd_json_text(&spelled, text);
        status = fd_text_pool_take(&trace->texts, &spelled, &meta->json);
    }
    cJSON_free(text);
    cJSON_Delete(fact);
    trace->sorted = false;
    return status;
}

fd_status
fd_rank_change_fact(fd_trace *trace, fd_trace_rank *rank, const char *key,
                    const fd_fact_change *changes, uint32_t count)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->meta.count && status == FD_OK; i++) {
        fd_trace_meta *meta = &rank->meta.list[i];
        if (count > 0 && strcmp(fd_trace_text(trace, meta->key), key) == 0) {
            status = rewrite_fact(trace, meta, changes, count);
        }
    }
    return status;
}
