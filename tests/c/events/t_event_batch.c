#include "check.h"
#include "timelines.h"

#include "events/event_batch.h"

TEST(members_of_an_object)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_batch_members(&batch, fd_span_text("{\"a\":[1],\n\"b\":{}}"));
    OK(batch.status);
    fixture_print(&batch, &to);
    WRITTEN(&to, "a:[1]\nb:{}\n");
}

/* Texts stay where they are while others come. */
TEST(many_texts)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    CLEAN(fd_buffer_clear) fd_buffer large = {.bytes = NULL};
    fd_span spans[2000];
    for (int i = 0; i < 100000; i++) {
        fd_buffer_text(&large, "x");
    }
    OK(large.status);
    for (uint32_t i = 0; i < 2000; i++) {
        spans[i] = i == 1000
                     ? fd_batch_text(&batch, large.bytes, large.size)
                     : fd_batch_format(&batch, "text number %u of 2000", i);
    }
    OK(batch.status);
    for (uint32_t i = 0; i < 2000; i++) {
        EQUAL(fd_span_size(spans[i]) > 1000, i == 1000);
        CHECK(i == 1000 || spans[i].from[0] == 't');
    }
    fd_batch_reset(&batch);
    EQUAL(batch.items.count, 0);
}
