#include "arrows.h"
#include "fixtures.h"

#include "columns/arrow_stream.h"
#include "trace/trace_merge.h"

static void
count(void *owner)
{
    ++*(int *)owner;
}

static fd_status
next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
    return stream->get_next(stream, array) == 0 ? FD_OK : FD_ENOMEM;
}

/* A table of all ranks is one batch; then the stream has ended. */
TEST(one_batch)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(arrows_drop_stream)
    struct ArrowArrayStream stream = {.release = NULL};
    CLEAN(arrows_drop_array) struct ArrowArray batch = {.release = NULL};
    struct ArrowArray end = {.release = NULL};
    OK(fd_arrow_stream(&stream, trace, fd_arrow_table_of("contexts"), NULL,
                       NULL));
    OK(next(&stream, &batch));
    EQUAL(batch.length, trace->contexts.count - 1);
    OK(next(&stream, &end));
    CHECK(end.release == NULL);
}

TEST(one_batch_per_rank)
{
    NEW_TRACE(trace);
    TRAINED_TRACE(first, 0, NULL);
    TRAINED_TRACE(second, 1, NULL);
    CLEAN(arrows_drop_stream)
    struct ArrowArrayStream stream = {.release = NULL};
    CLEAN(arrows_drop_schema) struct ArrowSchema schema = {.release = NULL};
    OK(fixture_merge(trace, first, "first", NULL));
    OK(fixture_merge(trace, second, "second", NULL));
    OK(fd_arrow_stream(&stream, trace, fd_arrow_table_of("steps"), NULL,
                       NULL));
    ALLOCATED(stream.get_schema(&stream, &schema) == 0);
    SAME(schema.children[0]->name, "rank");
    for (uint32_t rank = 0; rank < 2; rank++) {
        CLEAN(arrows_drop_array) struct ArrowArray batch = {.release = NULL};
        OK(next(&stream, &batch));
        FIELDS(&batch, (length, 2), (n_children, schema.n_children));
        EQUAL(arrows_u32(batch.children[0], 1), rank);
        EQUAL(arrows_u64(batch.children[1], 1), 1);
    }
}

/* The owner is dropped once, by the release. */
TEST(the_owner_is_dropped)
{
    TRAINED_TRACE(trace, 0, NULL);
    struct ArrowArrayStream stream = {.release = NULL};
    int dropped = 0;
    OK(fd_arrow_stream(&stream, trace, fd_arrow_table_of("nodes"), count,
                       &dropped));
    EQUAL(dropped, 0);
    stream.release(&stream);
    EQUAL(dropped, 1);
    CHECK(stream.release == NULL);
}
