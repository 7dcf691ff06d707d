#include "check.h"
#include "timelines.h"

#include "events/stats/slice_columns.h"

#define TEXTS(texts) \
    CLEAN(fd_slice_texts_clear) \
    fd_slice_texts texts = {.kind_of = fixture_kind}
#define SLICE(rest) "{\"ph\":\"X\",\"pid\":1,\"tid\":1," rest "}"

static fd_status
fill_row(fd_slice_texts *texts, const char *text, fd_event_row *row)
{
    fd_timeline_event event;
    fd_status status = fixture_event(text, &event);
    *row = (fd_event_row){.number = 0};
    return status == FD_OK ? fd_slice_columns_fill(texts, &event, row)
                           : status;
}

TEST(jobs_and_kernels)
{
    TEXTS(texts);
    fd_event_row row;
    OK(fill_row(&texts,
                SLICE("\"cat\":\"job\",\"name\":\"forward_3 (1 ms)\","
                      "\"args\":{\"stage\":1,\"step\":4}"),
                &row));
    FIELDS(&row, (stage, 1), (step, 4));
    SAME(fd_text_pool_get(&texts.texts, row.name), "forward_3");
    SAME(fd_text_pool_get(&texts.texts, row.type), "forward");
    OK(fill_row(&texts,
                SLICE("\"cat\":\"kernel\",\"name\":\"k\",\"args\":"
                      "{\"correlation\":8,\"stream\":7}"),
                &row));
    FIELDS(&row, (number, 9), (stream, 7), (step, FD_NO_STEP));
    OK(fill_row(&texts, SLICE("\"cat\":\"kernel\",\"name\":\"k\""), &row));
    EQUAL(row.number, 0);
}

/* Collectives that belong together have one key. */
TEST(collectives)
{
    static const char *const events[] = {
        SLICE("\"name\":\"gloo:all_reduce\",\"args\":{}"),
        SLICE("\"name\":\"gloo:all_reduce\",\"args\":{\"Input Dims\":[[3]]}"),
        SLICE("\"name\":\"gloo:all_reduce\",\"args\":{\"Input "
              "Dims\":[[3]],\"x\":1}"),
        SLICE("\"name\":\"gloo:all_reduce\",\"args\":{\"Process Group "
              "Name\":\"7\"}")};
    TEXTS(texts);
    fd_event_row rows[4];
    for (size_t i = 0; i < 4; i++) {
        OK(fill_row(&texts, events[i], &rows[i]));
        SAME(fd_text_pool_get(&texts.texts, rows[i].group), i == 3 ? "7" : "");
    }
    CHECK(rows[0].match != rows[1].match && rows[1].match == rows[2].match);
    CHECK(rows[0].match != rows[3].match);
}

TEST(threads)
{
    static const char *const events[] = {
        "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"name\":\"a\"}",
        "{\"ph\":\"b\",\"pid\":1,\"tid\":1,\"id\":1,\"name\":\"a\"}",
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1}",
        "{\"ph\":\"B\",\"pid\":2,\"tid\":1,\"name\":\"a\"}",
        "{\"ph\":\"C\",\"pid\":2}"};
    TEXTS(texts);
    fd_event_row rows[5];
    for (size_t i = 0; i < 5; i++) {
        OK(fill_row(&texts, events[i], &rows[i]));
    }
    CHECK(rows[0].lane == rows[2].lane && rows[0].lane != rows[1].lane);
    CHECK(rows[0].lane != rows[3].lane);
    CHECK(rows[3].process == rows[4].process);
    CHECK((rows[1].kind & FD_IS_ASYNC) != 0 && rows[2].kind == 0);
}
