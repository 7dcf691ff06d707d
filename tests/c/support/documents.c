#include "documents.h"

#include <string.h>

static const char DOCUMENT[] =
    "{\"format\":\"fastdispatch.trace\",\"version\":1,\n"
    "\"strings\":[\"\",\"f.py\",\"C\",\"main\",\"run\",\"op\"],\n"
    "\"nodes\":{\"kind\":[7,1,2],\"from\":[0,0,1],\"file\":[0,1,0],\n"
    "\"class\":[0,2,0],\"name\":[3,4,5],\"qualified\":[0,4,0],\n"
    "\"package\":[0,1,0],\"line\":[0,7,0]},\n"
    "\"modules\":{\"parent\":[-1,0],\"name\":[0,4],\"class\":[2,2]},\n"
    "\"contexts\":{\"parent\":[-1,0,1],\"node\":[0,1,2],\n"
    "\"module\":[-1,-1,1],\"origin\":[-1,-1,-1],\"flags\":[0,0,1]},\n"
    "\"ranks\":[\n"
    "{\"rank\":0,\"world\":1,\"pid\":42,\n"
    "\"id\":\"00112233445566778899aabbccddeeff\",\n"
    "\"boot_id\":\"ffeeddccbbaa99887766554433221100\",\n"
    "\"state\":\"stopped\",\"timing\":true,\"steps_source\":\"none\",\n"
    "\"steps\":0,\"recorded\":100,\"file_bytes\":4096,\n"
    "\"start\":{\"ticks\":1,\"monotonic\":2,\"boottime\":3,"
    "\"realtime\":4},\n"
    "\"meta\":{\"argv\":[1,{\"a\":null}]},\n"
    "\"counters\":{\"nodes_full\":5},\n"
    "\"notes\":[\"cut short\"],\n"
    "\"threads\":{\"role\":[3],\"system_id\":[9],\"root\":[0],\n"
    "\"running\":[false],\"served\":[1],\"covered\":[100],\"self\":[100],\n"
    "\"events\":[0],\"events_lost\":[0]},\n"
    "\"open\":{\"thread\":[0],\"context\":[2],\"age\":[11]},\n"
    "\"latest_steps\":{\"number\":[3],\"begin\":[10],\"end\":[60],\n"
    "\"other\":[1],\"forward\":[2],\"backward\":[3],\"optimizer\":[4],\n"
    "\"data\":[5]},\n"
    "\"step_tops\":{\"step\":[3],\"context\":[1],\"self\":[44]},\n"
    "\"figures\":{\"context\":[0,1],\"calls\":[1,\"9007199254740993\"],\n"
    "\"resumes\":[0,0],\"self\":[60,40],\"stepped\":[0,0],\n"
    "\"steps\":[0,1],\"last_step\":[0,0],\"self_min\":[0,1],\n"
    "\"self_max\":[0,2],\"self_squares\":[0,2.5],\"total_min\":[0,3],\n"
    "\"total_max\":[0,4],\"total_squares\":[0,1e3]}}]}\n";

fd_status
document_load(const char *from, const char *to, fd_trace **trace,
              fd_error *error)
{
    fd_buffer text = {.bytes = NULL};
    const char *at = from == NULL ? DOCUMENT : strstr(DOCUMENT, from);
    *trace = NULL;
    if (at == NULL || (from != NULL && strstr(at + 1, from) != NULL)) {
        return fd_fail(error, FD_EINVAL, "not exactly once: %s", from);
    }
    fd_buffer_bytes(&text, DOCUMENT, (size_t)(at - DOCUMENT));
    fd_buffer_text(&text, to != NULL ? to : "");
    fd_buffer_text(&text, at + (from != NULL ? strlen(from) : 0));
    fd_status status = text.status;
    fd_then(status, fixture_load(trace, text.bytes, text.size, error));
    fd_buffer_clear(&text);
    const char *place =
        status == FD_OK || error == NULL ? NULL : strstr(error->text, ": ");
    if (place != NULL) {
        memmove(error->text, place + 2, strlen(place + 2) + 1);
    }
    return status;
}

size_t
documents_accepted(const document_fault *faults, size_t count)
{
    size_t accepted = 0;
    for (size_t i = 0; i < count; i++) {
        fd_trace *trace = NULL;
        fd_error error = {""};
        const char *message = faults[i].message;
        fd_status status =
            document_load(faults[i].from, faults[i].to, &trace, &error);
        bool refused = status == FD_EFORMAT && trace == NULL
                    && strncmp(error.text, message, strlen(message)) == 0;
        bool lost = status == FD_ENOMEM && check_refused();
        accepted += !refused && !lost;
        fd_trace_free(trace);
    }
    return accepted;
}
