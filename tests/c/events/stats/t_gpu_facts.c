#include "check.h"
#include "spans.h"

#include "events/stats/gpu_facts.h"

TEST(arguments)
{
    fd_gpu_facts facts;
    fd_timeline_event event = {
        .args = span("{\"device\":0,\"stream\":7,\"correlation\":\"12\"}")};
    fd_gpu_facts_read(&event, &facts);
    FIELDS(&facts, (correlation, 12), (device, 0), (stream, 7));
}

TEST(missing_arguments)
{
    static const char *const texts[] = {"{}", "[]", "{\"stream\":-1}",
                                        "{\"device\":\"x\"}"};
    fd_gpu_facts facts;
    for (size_t i = 0; i <= sizeof texts / sizeof *texts; i++) {
        fd_timeline_event event = {.args = {NULL, NULL}};
        if (i > 0) {
            event.args = span(texts[i - 1]);
        }
        fd_gpu_facts_read(&event, &facts);
        CHECK(facts.correlation == FD_NO_CORRELATION);
        CHECK(facts.device == FD_NO_STREAM && facts.stream == FD_NO_STREAM);
    }
}
