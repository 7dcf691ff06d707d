#include "events/alignment/profiler_flows.h"

#include "base/budget.h"

void
fd_timeline_ties_clear(fd_timeline_ties *ties)
{
    fd_map_clear(&ties->started);
    fd_vector_clear(&ties->starts);
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
    return event->phase == 'X' && event->has_start && event->pid.from != NULL
        && event->tid.from != NULL
        && fd_timeline_argument(event, "Record function id", number)
        && *number != 0;
}

/* Beyond the bound, or without memory, there is no arrow. */
static bool
starts(fd_timeline_ties *ties, uint64_t number, int64_t ns)
{
    return ties->starts.count < fd_budget(FD_TIMELINE_MOST_TIES)
        && fd_map_get(&ties->started, number) == 0
        && fd_vector_push(&ties->starts, ns) == FD_OK
        && fd_map_put(&ties->started, number, ties->starts.count) == FD_OK;
}

/* An arrow must not end before it starts, and either program may see a call
 * begin first: the arrow ends `later` ns after the begin of this call. */
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

bool
fd_timeline_ties_find(fd_timeline_ties *ties, const fd_timeline_event *event,
                      fd_timeline_event *arrow)
{
    static const char name[] = "\"record\"";
    const fd_span text = {name, name + sizeof name - 1};
    uint64_t number;
    int64_t later = 0;
    if (ties->tying == FD_TYING_NOTHING || !number_of(event, &number)) {
        return false;
    }
    int64_t ns = fd_clock_apply(&ties->clock, event->start);
    bool begins = ties->tying == FD_TYING_STARTS;
    if (!(begins ? starts(ties, number, ns)
                 : ends(ties, number, ns, &later))) {
        return false;
    }
    *arrow = (fd_timeline_event){
        .phase = begins ? 's' : 'f',
        .encloses = !begins,
        .has_start = true,
        .start = event->start + later,
        .name = text,
        .cat = text,
        .pid = event->pid,
        .tid = event->tid,
        .id = fd_timeline_argument_text(event, "Record function id")};
    return true;
}
