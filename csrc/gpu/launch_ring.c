#include "gpu/launch_ring.h"

/* Ids of contexts have 24 bits. */
static const uint64_t SEEN = UINT64_C(1) << 31;

/* Return whether id `a` is later than `b`, in numbers that wrap. */
static bool
is_later(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

void
fd_launches_begin(fd_launch_ring *ring, bool keeps)
{
    ring->earlier_first = keeps ? ring->first : 0;
    ring->earlier_last = keeps ? ring->last : 0;
    ring->first = 0;
    ring->last = 0;
    ring->latest_seen = 0;
    ring->settled = 0;
    if (!keeps) {
        ring->seen = ring->written - ring->overwritten;
        for (uint32_t i = 0; i < FD_LAUNCHES; i++) {
            atomic_store_explicit(&ring->list[i].word, 0,
                                  memory_order_relaxed);
        }
    }
}

void
fd_launches_put(fd_launch_ring *ring, uint32_t correlation,
                fd_launcher launcher, uint64_t tick)
{
    fd_launch *launch = &ring->list[correlation % FD_LAUNCHES];
    uint64_t word = (uint64_t)correlation << 32 | launcher.context;
    uint32_t none = 0;
    if (atomic_load_explicit(&launch->word, memory_order_relaxed) >> 32
        == correlation) {
        return; /* the driver's call inside the runtime's */
    }
    /* A search that reads the word of the previous launch, and then the tick
     * of this one, finds the word changed. */
    uint64_t before =
        atomic_exchange_explicit(&launch->word, 0, memory_order_acq_rel);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&launch->tick, tick, memory_order_relaxed);
    atomic_store_explicit(&launch->call, launcher.call, memory_order_relaxed);
    atomic_store_explicit(&launch->log, launcher.log, memory_order_relaxed);
    atomic_store_explicit(&launch->function, launcher.function,
                          memory_order_relaxed);
    atomic_store_explicit(&launch->ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&launch->word, word, memory_order_release);
    if (before != 0 && (before & SEEN) == 0) {
        ring->overwritten++;
    }
    ring->written++;
    atomic_compare_exchange_strong(&ring->first, &none, correlation);
    uint32_t last = ring->last;
    while ((last == 0 || is_later(correlation, last))
           && !atomic_compare_exchange_weak(&ring->last, &last, correlation)) {
    }
}

void
fd_launches_end(fd_launch_ring *ring, uint32_t correlation, uint32_t function,
                uint64_t tick)
{
    fd_launch *launch = &ring->list[correlation % FD_LAUNCHES];
    uint64_t word = atomic_load_explicit(&launch->word, memory_order_acquire);
    if (word >> 32 == correlation && launch->function == function) {
        uint64_t ticks = tick - launch->tick;
        atomic_store_explicit(
            &launch->ticks, ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
            memory_order_relaxed);
    }
}

void
fd_launches_capture(fd_launch_ring *ring, uint32_t correlation)
{
    fd_launch *launch = &ring->list[correlation % FD_LAUNCHES];
    uint64_t word = atomic_load_explicit(&launch->word, memory_order_acquire);
    if (word >> 32 == correlation && (word & SEEN) == 0
        && atomic_compare_exchange_strong(&launch->word, &word, word | SEEN)) {
        ring->seen++;
    }
}

static bool
is_between(uint32_t first, uint32_t id, uint32_t last)
{
    return first != 0 && !is_later(first, id) && !is_later(id, last);
}

fd_launch_state
fd_launches_find(fd_launch_ring *ring, uint32_t correlation,
                 fd_launcher *launcher, uint64_t *tick)
{
    fd_launch *launch = &ring->list[correlation % FD_LAUNCHES];
    uint64_t word = atomic_load_explicit(&launch->word, memory_order_acquire);
    launcher->context = (uint32_t)(word & (SEEN - 1));
    launcher->call = atomic_load_explicit(&launch->call, memory_order_relaxed);
    launcher->log = atomic_load_explicit(&launch->log, memory_order_relaxed);
    launcher->function =
        atomic_load_explicit(&launch->function, memory_order_relaxed);
    launcher->ticks =
        atomic_load_explicit(&launch->ticks, memory_order_relaxed);
    *tick = atomic_load_explicit(&launch->tick, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (word != 0 && word >> 32 == correlation
        && word == atomic_load_explicit(&launch->word, memory_order_relaxed)) {
        if ((word & SEEN) == 0
            && atomic_compare_exchange_strong(&launch->word, &word,
                                              word | SEEN)) {
            ring->seen++;
            if (ring->latest_seen == 0
                || is_later(correlation, ring->latest_seen)) {
                ring->latest_seen = correlation;
            }
        }
        return FD_LAUNCH_FOUND;
    }
    *launcher = (fd_launcher){0};
    *tick = 0;
    bool inside =
        is_between(ring->first, correlation, ring->last)
        || is_between(ring->earlier_first, correlation, ring->earlier_last);
    return inside ? FD_LAUNCH_UNKNOWN : FD_LAUNCH_OUTSIDE;
}

uint64_t
fd_launches_seen_until(fd_launch_ring *ring, uint64_t now, uint64_t patience)
{
    uint32_t last = ring->last;
    if (ring->settled == 0 && last != 0) {
        ring->settled = ring->first - 1;
    }
    if (last - ring->settled > FD_LAUNCHES) {
        ring->settled = last - FD_LAUNCHES;
    }
    while (last != ring->settled) {
        uint32_t id = ring->settled + 1;
        const fd_launch *launch = &ring->list[id % FD_LAUNCHES];
        uint64_t word =
            atomic_load_explicit(&launch->word, memory_order_acquire);
        uint64_t tick =
            atomic_load_explicit(&launch->tick, memory_order_relaxed);
        if (word >> 32 == id && (word & SEEN) == 0 && tick + patience > now) {
            return tick < now ? tick : now;
        }
        ring->settled = id;
    }
    return now;
}

bool
fd_launches_reached(const fd_launch_ring *ring)
{
    return ring->latest_seen == ring->last;
}

uint64_t
fd_launches_pending(const fd_launch_ring *ring)
{
    uint64_t written = ring->written - ring->overwritten;
    return written > ring->seen ? written - ring->seen : 0;
}
