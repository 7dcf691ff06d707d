#include "io/json_text.h"

#include <cjson/cJSON.h>
#include <string.h>

void
fd_json_text(fd_buffer *to, const char *json)
{
    cJSON *value = cJSON_Parse(json);
    char *text = value != NULL ? cJSON_PrintUnformatted(value) : NULL;
    if (text != NULL) {
        fd_buffer_text(to, text);
    }
    else if (value != NULL) {
        to->status = FD_ENOMEM;
    }
    else {
        fd_buffer_json(to, json, strlen(json));
    }
    cJSON_free(text);
    cJSON_Delete(value);
}
