#include "traces.h"

#include "et/tools/link_files.h"
#include "fixtures.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

static void
compared(void)
{
    static const struct {
        fd_et_identity et;
        fd_et_identity kineto;
        const char *said; /* "": they fit */
    } cases[] = {
        {{.rank = -1}, {.rank = 3, .pid = 7}, ""},
        {{.rank = 3, .pid = 7}, {.rank = 3, .pid = 7}, ""},
        {{.rank = 2, .pid = 7}, {.rank = 3, .pid = 7}, "of rank 3, but"},
        {{.rank = 3, .pid = 7}, {.rank = 3, .pid = 8}, "of process 8, but"},
        {{.rank = -1,
          .begin_ns = 1795323765 * SECOND,
          .end_ns = 1795323765 * SECOND},
         {.rank = -1,
          .begin_ns = 1795323765 * SECOND,
          .end_ns = 1795323766 * SECOND},
         ""},
        {{.rank = -1,
          .begin_ns = 1795323765 * SECOND,
          .end_ns = 1795323765 * SECOND},
         {.rank = -1,
          .begin_ns = 1795423765 * SECOND,
          .end_ns = 1795423766 * SECOND},
         "of 2026-11-23 08:49 UTC, but the execution trace is of 2026-11-22"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_error error = {""};
        STATUS(fd_et_compare_identity(&cases[i].et, &cases[i].kineto, "k.json",
                                      &error),
               cases[i].said[0] == '\0' ? FD_OK : FD_EFORMAT);
        HAS(error.text, cases[i].said);
    }
}

static void
times(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = 5, .pid = 7, .finished = true};
    et.start_ts = 10;
    et.finish_ts = 2010;
    ENTER(&et.arena);
    et.time = fd_et_add_word(&et, "2026-11-22 05:02:45");
    fd_et_identity made;
    fd_et_identity_of(&made, &et);
    EQUAL(made.pid, 7);
    EQUAL(made.rank, 5);
    EQUAL(made.begin_ns, 1795323765 * SECOND);
    EQUAL(made.end_ns, 1795323767 * SECOND);
    et.time = fd_et_add_word(&et, "yesterday");
    fd_et_identity_of(&made, &et);
    EQUAL(made.begin_ns, 0);
}

static void
add_group(fd_et *et, const char *ranks)
{
    fd_et_group group = {.name = fd_et_add_word(et, ranks),
                         .ranks = fd_et_add_word(et, ranks)};
    fd_arena_push(&et->arena, &et->groups, group);
}

/* A trace lists the process groups that contain its rank. */
static void
groups(void)
{
    static const char *const lists[] = {"[]", "[12, 2, 13, 3]", "[3,13]",
                                        "[1, 3]"};
    static const uint32_t counts[] = {0, 4, 2, 1};
    EMPTY_TRACE(et);
    fd_et_identity made;
    for (uint32_t i = 0; i < 4; i++) {
        add_group(&et, lists[i]);
        fd_et_identity_of(&made, &et);
        EQUAL(made.members.count, counts[i]);
        EQUAL(made.rank, i == 3 ? 3 : -1);
        fd_error error = {""};
        fd_et_identity other = {.rank = 2};
        STATUS(fd_et_compare_identity(&made, &other, "k.json", &error),
               i < 2 ? FD_OK : FD_EFORMAT);
        CHECK(i != 2
              || strstr(error.text, "rank 2, which is not in all process "
                                    "groups of the execution trace")
                     != NULL);
    }
}

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
        CLEAN(fd_et_clear) fd_et read = {.rank = -1};
        fd_kineto kineto;
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
        OK(fd_et_read_identity(&read, "k.json", &identity, NULL));
        EQUAL(identity.pid, 8);
        EQUAL(identity.rank, 4);
        fd_et_clear(&read);
        OK(fd_et_read_identity(&read, "et.json", &identity, NULL));
        EQUAL(identity.pid, 7);
        EQUAL(identity.rank, -1);
        EQUAL(identity.members.count, 0);
    }
}

RUN(TEST(compared), TEST(times), TEST(groups), TEST(another_process))
