#include "json/json_text.h"

#include <cjson/cJSON.h>

/* Both cases use cJSON's printer, which has its own escapes of DEL and '/'. */
void
fd_json_text(fd_buffer *to, const char *json)
{
    cJSON *value = cJSON_Parse(json);
    if (value == NULL) {
        value = cJSON_CreateString(json);
    }
    char *text = value != NULL ? cJSON_PrintUnformatted(value) : NULL;
    if (text != NULL) {
        fd_buffer_text(to, text);
    }
    else {
        to->status = FD_ENOMEM;
    }
    cJSON_free(text);
    cJSON_Delete(value);
}
