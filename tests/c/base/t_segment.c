#include "check.h"

#include "base/segment.h"

#include <pthread.h>
#include <stdint.h>

typedef struct descent {
    fd_segment *segment; /* the next one to use */
    uint32_t left;       /* segments to enter */
    uint32_t entered;
    const volatile char *above; /* an address on the stack of the caller */
    bool apart;                 /* every segment is separate memory */
} descent;

/* Fill a part of the segment, then continue on the next one. */
static void
descend(void *argument)
{
    descent *d = argument;
    volatile char capacity[1 << 20];
    for (size_t i = 0; i < sizeof capacity; i += 4096) {
        capacity[i] = (char)i;
    }
    const volatile char *here = capacity;
    fd_segment *own = d->segment;
    d->apart = d->apart && here > own->base && here < own->base + own->bytes
            && (d->above < own->base || d->above >= own->base + own->bytes);
    d->entered++;
    if (--d->left > 0) {
        own->next = fd_segment_make(own->bytes);
        if (own->next == NULL) { /* the allocation is refused */
            return;
        }
        d->segment = own->next;
        d->above = here;
        fd_segment_run(own->next, descend, d);
    }
    CHECK(capacity[4096] == (char)4096);
}

ABSORBS(one_in_the_other)
{
    if (!FD_HAS_SEGMENTS) {
        return;
    }
    char here = 0;
    fd_segment *first = fd_segment_make(0);
    if (first == NULL) { /* the allocation is refused */
        return;
    }
    descent d = {.segment = first, .left = 20, .above = &here, .apart = true};
    fd_segment_run(first, descend, &d);
    CHECK(d.apart);
    uint32_t made = 0;
    for (const fd_segment *each = first; each != NULL; each = each->next) {
        made++;
    }
    CHECK(d.entered == made);
    CHECK(made == 20 || check_refused());
    fd_segment_free(first);
}

ABSORBS(sizes)
{
    if (!FD_HAS_SEGMENTS) {
        return;
    }
    static const size_t asked[] = {0, 256 << 10, 64 << 20, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        fd_segment *segment = fd_segment_make(asked[i]);
        if (segment != NULL) {
            CHECK(segment->bytes >= (size_t)16 << 20);
            CHECK(segment->bytes <= (size_t)1 << 30);
            CHECK(segment->low > segment->base);
            CHECK(segment->low < segment->base + segment->bytes);
        }
        fd_segment_free(segment);
    }
}

static void
leave_the_thread(void *argument)
{
    *(bool *)argument = true;
    pthread_exit(NULL);
}

static void *
start(void *argument)
{
    fd_segment *segment = fd_segment_make(0);
    pthread_cleanup_push((void (*)(void *))fd_segment_free, segment);
    if (segment != NULL) {
        fd_segment_run(segment, leave_the_thread, argument);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

/* pthread_exit unwinds through the segment to the stack of the thread. */
ONCE(unwound)
{
    pthread_t thread;
    bool left = false;
    CHECK(pthread_create(&thread, NULL, start, &left) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(left || !FD_HAS_SEGMENTS);
}
