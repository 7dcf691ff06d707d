#include "check.h"

#include "et/tools/trace_identity.h"

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
        CHECK(strstr(error.text, cases[i].said) != NULL);
    }
}

static void
times(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = 5, .pid = 7, .finished = true};
    et.start_ts = 10;
    et.finish_ts = 2010;
    OK(fd_text_pool_add(&et.texts, "2026-11-22 05:02:45", 19, &et.time));
    fd_et_identity made = fd_et_identity_of(&et);
    EQUAL(made.pid, 7);
    EQUAL(made.rank, 5);
    EQUAL(made.begin_ns, 1795323765 * SECOND);
    EQUAL(made.end_ns, 1795323767 * SECOND);
    OK(fd_text_pool_add(&et.texts, "yesterday", 9, &et.time));
    EQUAL(fd_et_identity_of(&et).begin_ns, 0);
}

RUN(TEST(compared), TEST(times))
