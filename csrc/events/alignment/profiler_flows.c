#include "events/alignment/profiler_flows.h"

#include "base/budget.h"
#include "json/decimal.h"

#include <inttypes.h>

void
fd_timeline_ties_clear(fd_timeline_ties *ties)
{
    fd_map_clear(&ties->started);
    fd_vector_clear(&ties->starts);
    fd_buffer_clear(&ties->text);
}

void
fd_timeline_ties_begin(fd_timeline_ties *ties, fd_timeline_tying tying,
                       uint64_t place, const fd_clock_map *clock)
{
    if (tying != FD_TYING_ENDS) {
        fd_map_clear(&ties->started);
        ties->starts.count = 0;
        ties->place = place;
    }
    ties->tying = tying;
    ties->clock = *clock;
}

static bool
number_of(const fd_timeline_event *event, uint64_t *number)
{
    fd_span value;
    return event->phase == 'X' && event->args.from != NULL
        && event->ts.from != NULL && event->pid.from != NULL
        && event->tid.from != NULL
        && fd_scan_find(event->args, "Record function id", &value)
        && fd_span_u64(value, number) && *number != 0;
}

/* One beyond the bound, or without memory, goes without an arrow. */
static bool
starts(fd_timeline_ties *ties, uint64_t number, int64_t ns)
{
    return ties->starts.count < fd_budget(FD_TIMELINE_MOST_TIES)
        && fd_map_get(&ties->started, number) == 0
        && fd_vector_push(&ties->starts, ns) == FD_OK
        && fd_map_put(&ties->started, number, ties->starts.count) == FD_OK;
}

/* An arrow may not end before it starts, and either program may see a call
 * begin first: by `later` ns it ends after the begin of this one. */
static bool
ends(fd_timeline_ties *ties, uint64_t number, int64_t ns, int64_t *later)
{
    uint32_t place = fd_map_get(&ties->started, number);
    if (place == 0 || ties->starts.list[place - 1] == FD_TIED) {
        return false;
    }
    int64_t start = ties->starts.list[place - 1];
    *later = start >= ns ? start - ns + 1 : 0;
    ties->starts.list[place - 1] = FD_TIED;
    return true;
}

static void
copy(fd_buffer *to, const char *key, fd_span value)
{
    fd_buffer_format(to, ",\"%s\":", key);
    fd_buffer_bytes(to, value.from, fd_span_size(value));
}

static bool
write(fd_timeline_ties *ties, const fd_timeline_event *event, uint64_t number,
      int64_t later)
{
    fd_buffer *to = &ties->text;
    to->size = 0;
    fd_buffer_format(
        to,
        "{\"ph\":\"%s,\"cat\":\"record\",\"name\":\"record\","
        "\"id\":%" PRIu64,
        ties->tying == FD_TYING_STARTS ? "s\"" : "f\",\"bp\":\"e\"", number);
    copy(to, "pid", event->pid);
    copy(to, "tid", event->tid);
    fd_buffer_text(to, ",\"ts\":");
    bool timed = fd_decimal_shift(fd_span_inside(event->ts), later, to);
    fd_buffer_text(to, "}");
    return timed && to->status == FD_OK;
}

bool
fd_timeline_ties_find(fd_timeline_ties *ties, const fd_timeline_event *event)
{
    uint64_t number;
    int64_t ns;
    int64_t later = 0;
    if (ties->tying == FD_TYING_NOTHING || !number_of(event, &number)
        || !fd_decimal_ns(fd_span_inside(event->ts), &ns)) {
        return false;
    }
    ns = fd_clock_apply(&ties->clock, ns);
    bool found = ties->tying == FD_TYING_STARTS
                   ? starts(ties, number, ns)
                   : ends(ties, number, ns, &later);
    return found && write(ties, event, number, later);
}
