#include "check.h"
#include "timelines.h"

#include "events/stats/process_facts.h"

#include <string.h>

static fd_status
event(fd_process_table *table, uint32_t process, const char *text)
{
    fd_timeline_event each;
    fd_status status = fixture_event(text, &each);
    return status == FD_OK ? fd_process_table_event(table, process, &each)
                           : status;
}

static fd_status
member(fd_process_table *table, const char *key, const char *value)
{
    return fd_process_table_member(table, (fd_span){key, key + strlen(key)},
                                   (fd_span){value, value + strlen(value)});
}

#define NAME(name) \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"" \
    "}}"

TEST(names_and_events)
{
    CLEAN(fd_process_table_clear) fd_process_table t = {.list = {.count = 0}};
    OK(event(&t, 1, "{\"ph\":\"X\",\"ts\":1,\"dur\":1}"));
    OK(event(&t, 1, NAME("rank 3 | a")));
    OK(event(&t, 0, NAME("python")));
    OK(event(&t, 2, NAME("rank 4")));
    OK(event(&t, 1,
             "{\"ph\":\"i\",\"name\":\"12 events found no room in the "
             "timeline\",\"ts\":99}"));
    OK(event(&t, 1, "{\"ph\":\"i\",\"name\":\"12 events\",\"ts\":99}"));
    EQUAL(t.list.count, 3);
    CHECK(!t.list.list[0].named && t.list.list[2].named);
    FIELDS(&t.list, (list[0].events, 0), (list[1].rank, 3),
           (list[1].events, 3), (list[1].calls_lost, 12));
}

TEST(losses_of_a_merge)
{
    CLEAN(fd_process_table_clear) fd_process_table t = {.list = {.count = 0}};
    OK(member(&t, "ranks",
              "[{\"rank\":3,\"lost\":2},{\"rank\":0,\"lost\":0},"
              "{\"rank\":77,\"lost\":1}]"));
    OK(member(&t, "ranks", "[1,2"));
    OK(member(&t, "other", "[{\"rank\":3,\"lost\":2}]"));
    FIELDS(&t.losses, (count, 2), (list[0].rank, 3), (list[0].lost, 2),
           (list[1].rank, 77));
}
