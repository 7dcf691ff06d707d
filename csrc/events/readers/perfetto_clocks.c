#include "events/readers/perfetto_clocks.h"

#include "base/budget.h"
#include "events/recorded/perfetto_fields.h"

enum {
    FIRST_OWN_CLOCK = 64, /* ids from here on belong to a sequence */
    FIRST_COMMON_CLOCK = 128,
    MOST_CLOCKS = 256,
    MOST_PAIRS = 1 << 20 /* per clock; the last one applies to all
                          * later times */
};

void
fd_perfetto_clocks_clear(fd_perfetto_clocks *clocks)
{
    for (uint32_t i = 0; i < clocks->count; i++) {
        fd_vector_clear(&clocks->list[i].pairs);
    }
    fd_vector_clear(clocks);
}

/* Add with wrap-around, because times of a malformed file are arbitrary. */
static int64_t
add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t
scaled(int64_t value, int64_t unit)
{
    return (int64_t)((uint64_t)value * (uint64_t)unit);
}

static bool
is_own(uint32_t id)
{
    return id >= FIRST_OWN_CLOCK && id < FIRST_COMMON_CLOCK;
}

static fd_perfetto_clock_of *
find_clock(const fd_perfetto_clocks *clocks, uint32_t id)
{
    for (uint32_t i = 0; clocks != NULL && i < clocks->count; i++) {
        if (clocks->list[i].id == id) {
            return &clocks->list[i];
        }
    }
    return NULL;
}

/* Find or add a clock. Return NULL if the table is full or an allocation
 * failed. */
static fd_perfetto_clock_of *
make_clock(fd_perfetto_clocks *clocks, uint32_t id, fd_status *status)
{
    fd_perfetto_clock_of *known = find_clock(clocks, id);
    if (known != NULL || clocks == NULL
        || clocks->count >= fd_budget(MOST_CLOCKS)) {
        return known;
    }
    *status = fd_vector_push(clocks, (fd_perfetto_clock_of){.id = id});
    return *status == FD_OK ? &clocks->list[clocks->count - 1] : NULL;
}

/* One clock of a snapshot. */
typedef struct reading {
    uint32_t id;
    bool incremental;
    int64_t unit;
    int64_t at;
} reading;

static bool
read_clock(const fd_proto_field *message, reading *clock)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    *clock = (reading){.unit = 1};
    while (fd_proto_next(&r, &f)) {
        switch (f.number) {
        case FD_PB_CLOCK_ID:
            clock->id = (uint32_t)f.value;
            break;
        case FD_PB_CLOCK_TIMESTAMP:
            clock->at = (int64_t)f.value;
            break;
        case FD_PB_CLOCK_INCREMENTAL:
            clock->incremental = f.value != 0;
            break;
        case FD_PB_CLOCK_UNIT:
            clock->unit = f.value != 0 ? (int64_t)f.value : 1;
            break;
        default:
            break;
        }
    }
    return !r.bad;
}

/* Return the last pair at or before `value`, or the first pair. */
static const fd_perfetto_clock_pair *
pair_at(const fd_perfetto_clock_of *clock, int64_t value)
{
    uint32_t low = 0;
    uint32_t high = clock->pairs.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (clock->pairs.list[middle].at <= value) {
            low = middle;
        }
        else {
            high = middle;
        }
    }
    return &clock->pairs.list[low];
}

bool
fd_perfetto_clocks_boot(fd_perfetto_clocks *all, fd_perfetto_clocks *own,
                        uint32_t id, int64_t value, int64_t *time)
{
    *time = value;
    while (id != 0 && id != FD_PB_BOOTTIME) {
        fd_perfetto_clock_of *clock = find_clock(is_own(id) ? own : all, id);
        if (clock == NULL || clock->pairs.count == 0) {
            return false;
        }
        if (clock->incremental) {
            clock->now = add(clock->now, *time);
            *time = clock->now;
        }
        const fd_perfetto_clock_pair *pair = pair_at(clock, *time);
        *time = add(pair->other,
                    scaled(add(*time, scaled(pair->at, -1)), clock->unit));
        id = clock->by;
    }
    return true;
}

static fd_status
add_pair(fd_perfetto_clock_of *clock, const reading *r, uint32_t by,
         int64_t other)
{
    if (r->incremental || by != clock->by) {
        clock->pairs.count = 0;
    }
    while (clock->pairs.count > 0
           && (clock->pairs.list[clock->pairs.count - 1].at >= r->at
               || clock->pairs.count >= fd_budget(MOST_PAIRS))) {
        clock->pairs.count--;
    }
    clock->by = by;
    clock->incremental = r->incremental;
    clock->unit = r->unit;
    clock->now = r->at;
    return fd_vector_push(&clock->pairs,
                          (fd_perfetto_clock_pair){r->at, other});
}

/* Find the boot time of a snapshot, whose clocks were all read at the same
 * time: the boot-time clock if the snapshot has it, otherwise the first clock
 * that can be converted. */
static bool
find_moment(fd_perfetto_clocks *all, fd_perfetto_clocks *own,
            const fd_proto_field *message, reading *by, int64_t *moment)
{
    fd_proto_field f;
    reading clock;
    bool known = false;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_CLOCKS && read_clock(&f, &clock)) {
            int64_t time;
            bool boot = clock.id == FD_PB_BOOTTIME;
            if ((boot || (!known && !clock.incremental))
                && fd_perfetto_clocks_boot(all, own, clock.id, clock.at,
                                           &time)) {
                *moment = time;
                *by = clock;
                known = true;
            }
        }
    }
    return known;
}

/* A clock of a sequence is related to the first clock of the trace in its
 * snapshot, of which later snapshots can give more pairs. */
fd_status
fd_perfetto_clocks_snapshot(fd_perfetto_clocks *all, fd_perfetto_clocks *own,
                            const fd_proto_field *message, bool *has_base,
                            int64_t *base_ns)
{
    fd_proto_field f;
    reading clock;
    reading by = {.id = 0};
    int64_t moment = 0;
    fd_status status = FD_OK;
    bool known = find_moment(all, own, message, &by, &moment);
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        if (!known || f.number != FD_PB_CLOCKS || !read_clock(&f, &clock)
            || clock.id == FD_PB_BOOTTIME || clock.id == by.id) {
            continue;
        }
        bool follows = is_own(clock.id) && !is_own(by.id) && by.unit == 1;
        fd_perfetto_clock_of *pair =
            make_clock(is_own(clock.id) ? own : all, clock.id, &status);
        if (pair != NULL) {
            status = add_pair(pair, &clock, follows ? by.id : FD_PB_BOOTTIME,
                              follows ? by.at : moment);
        }
        if (clock.id == FD_PB_REALTIME && !*has_base && clock.at >= moment) {
            *has_base = true;
            *base_ns = clock.at - moment;
        }
    }
    return r.bad ? FD_EFORMAT : status;
}
