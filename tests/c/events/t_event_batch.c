#include "check.h"
#include "timelines.h"

#include "events/event_batch.h"

static void
items_and_their_texts(void)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    for (int round = 0; round < 2; round++) {
        fd_batch_reset(&batch);
        fd_batch_member(&batch, "n", fd_batch_number(&batch, 120));
        fd_timeline_event event = {.phase = 'i',
                                   .pid = fd_batch_format(&batch, "%d", -1),
                                   .name = fd_batch_json(&batch, "a\"b", 3),
                                   .cat = fd_batch_static("\"c\"")};
        fd_buffer_text(fd_batch_compose(&batch), "{}");
        event.args = fd_batch_composed(&batch);
        fd_batch_event(&batch, &event);
        OK(batch.status);
    }
    fixture_print(&batch, &to);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    SAME(to.bytes, "n:120\n{\"ph\":\"i\",\"pid\":-1,\"name\":\"a\\\"b\","
                   "\"cat\":\"c\",\"args\":{}}\n");
}

static void
members_of_an_object(void)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_batch_members(&batch, fd_batch_static("{\"a\":[1],\n\"b\":{}}"));
    OK(batch.status);
    fixture_print(&batch, &to);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    SAME(to.bytes, "a:[1]\nb:{}\n");
}

/* Texts stay where they are while others come. */
static void
many_texts(void)
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

RUN(TEST(items_and_their_texts), TEST(members_of_an_object), TEST(many_texts))
