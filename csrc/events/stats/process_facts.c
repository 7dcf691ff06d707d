#include "events/stats/process_facts.h"

#include <string.h>

void
fd_process_table_clear(fd_process_table *table)
{
    fd_vector_clear(&table->list);
    fd_vector_clear(&table->losses);
}

static void
note_name(fd_process_facts *facts, const fd_timeline_event *event)
{
    fd_span name = fd_timeline_argument_text(event, "name");
    uint64_t number;
    if (name.from != NULL && fd_span_is(event->name, "\"process_name\"")
        && fd_span_numbered(name, "rank ", " ", &number)
        && number < FD_TIMELINE_RANKS) {
        facts->named = true;
        facts->rank = (uint32_t)number;
    }
}

/* Return the number of calls that an instant of a recording reports as lost. */
static uint64_t
lost_calls(const fd_timeline_event *event)
{
    static const char text[] = " events found no room";
    uint64_t number;
    bool reports =
        (event->phase == 'i' || event->phase == 'I')
        && fd_timeline_named(event)
        && fd_span_numbered(fd_span_inside(event->name), "", " ", &number)
        && memmem(event->name.from, fd_span_size(event->name), text,
                  sizeof text - 1)
               != NULL;
    return reports ? number : 0;
}

fd_status
fd_process_table_event(fd_process_table *table, uint32_t process,
                       const fd_timeline_event *event)
{
    fd_status status = FD_OK;
    while (status == FD_OK && table->list.count <= process) {
        status =
            fd_vector_push(&table->list, (fd_process_facts){.named = false});
    }
    if (status != FD_OK) {
        return status;
    }
    fd_process_facts *facts = &table->list.list[process];
    if (event->phase == 'M') {
        note_name(facts, event);
        return FD_OK;
    }
    facts->events++;
    facts->calls_lost += lost_calls(event);
    return FD_OK;
}

fd_status
fd_process_table_member(fd_process_table *table, fd_span key, fd_span value)
{
    fd_scan scan = {.at = value.from, .end = value.to, .forgets = true};
    fd_span row;
    fd_status status = FD_OK;
    if (!fd_span_is(key, "ranks") || fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return FD_OK;
    }
    for (bool first = true;
         status == FD_OK && fd_scan_element(&scan, first, &row) == FD_SCAN_OK;
         first = false) {
        fd_span found;
        uint64_t rank;
        uint64_t lost;
        if (fd_scan_find(row, "rank", &found) && fd_span_u64(found, &rank)
            && rank < FD_TIMELINE_RANKS && fd_scan_find(row, "lost", &found)
            && fd_span_u64(found, &lost) && lost > 0) {
            status = fd_vector_push(
                &table->losses, ((fd_reported_loss){(uint32_t)rank, lost}));
        }
    }
    return status;
}
