#include "base/sections.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A section is left well within a microsecond: poll a few times before the
 * first sleep; wait about a second in total. */
enum { LOOKS = 1000, WAITS = 10000, WAIT_NS = 100000 };

bool fd_sections_asymmetric;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fd_section *sections; /* registered sections, under the lock */

static bool
memory_barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void
fd_sections_init(void)
{
#if !defined(__SANITIZE_THREAD__)
    fd_sections_asymmetric =
        memory_barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        && memory_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
#endif
}

void
fd_sections_add(fd_section *section)
{
    pthread_mutex_lock(&lock);
    section->next = sections;
    sections = section;
    pthread_mutex_unlock(&lock);
}

void
fd_sections_remove(fd_section *section)
{
    pthread_mutex_lock(&lock);
    fd_section **link = &sections;
    while (*link != NULL && *link != section) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = section->next;
    }
    pthread_mutex_unlock(&lock);
}

static bool
is_left(fd_section *section, int *waits)
{
    const struct timespec pause = {0, WAIT_NS};
    while (atomic_load_explicit(&section->inside, memory_order_seq_cst)) {
        if (++*waits > LOOKS + WAITS) {
            return false;
        }
        if (*waits > LOOKS) {
            nanosleep(&pause, NULL);
        }
    }
    return true;
}

bool
fd_sections_wait(const fd_section *own)
{
    if (fd_sections_asymmetric
        && !memory_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        return false;
    }
    int waits = 0;
    bool left = true;
    pthread_mutex_lock(&lock);
    for (fd_section *at = sections; at != NULL && left; at = at->next) {
        left = at == own || is_left(at, &waits);
    }
    pthread_mutex_unlock(&lock);
    return left;
}

void
fd_sections_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

void
fd_sections_after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

void
fd_sections_after_fork_in_child(fd_section *own)
{
    sections = own;
    if (own != NULL) {
        own->next = NULL;
    }
    pthread_mutex_unlock(&lock);
    fd_sections_init();
}
