#include "traces.h"

#include "et/tools/link_files.h"
#include "fixtures.h"

static fd_status
write_files(const char *kineto)
{
    fd_buffer text = {.bytes = NULL};
    traces_small(&text);
    fd_status status = text.status;
    if (status == FD_OK) {
        status = fixture_write("et.json", text.bytes, text.size);
    }
    fd_buffer_clear(&text);
    return status == FD_OK ? fixture_write_text("k.json", kineto) : status;
}

/* A Kineto trace of another process than that of the execution trace, 7. */
static void
another_process(void)
{
    for (int forced = 0; forced < 2; forced++) {
        CLEAN(fd_et_clear) fd_et et = {.rank = -1};
        CLEAN(fd_kineto_clear) fd_kineto kineto = {.events = 0};
        fd_et_link link;
        fd_et_identity identity;
        fd_error error;
        fd_et_link_options options = {FD_ET_ALL_KINDS, forced != 0};
        OK(write_files("{\"distributedInfo\":{\"rank\":4},\"traceEvents\":[{"
                       "\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"
                       "\"aten::linear\",\"pid\":8,\"tid\":5,\"ts\":1,"
                       "\"dur\":1,\"args\":{\"Record function id\":104}}]}"));
        STATUS(fd_et_link_files(&et, "et.json", "k.json", options, &link,
                                &kineto, &error),
               forced != 0 ? FD_OK : FD_EFORMAT);
        OK(fd_et_read_identity("k.json", &identity, NULL));
        EQUAL(identity.pid, 8);
        EQUAL(identity.rank, 4);
        OK(fd_et_read_identity("et.json", &identity, NULL));
        EQUAL(identity.pid, 7);
        EQUAL(identity.rank, -1);
        EQUAL(identity.members.count, 0);
    }
}

RUN(TEST(another_process))
