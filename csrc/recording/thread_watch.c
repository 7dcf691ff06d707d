#include "recording/thread_watch.h"

#include "recording/followed_call.h"
#include "recording/thread_clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PERIOD_S = 1,
    STACK_BYTES = 128 * 1024,
    LINES_BYTES = 16 * 1024,
    MOST_CALLS = 512
};

static uint32_t
wait_for_file(uint64_t descriptor)
{
    char path[64];
    char target[16] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%" PRIu64, descriptor);
    ssize_t size = readlink(path, target, sizeof target - 1);
    target[size > 0 ? size : 0] = '\0';
    return strncmp(target, "socket:", 7) == 0 ? FD_WAIT_SOCKET
         : strncmp(target, "pipe:", 5) == 0   ? FD_WAIT_PIPE
                                              : FD_WAIT_FILE;
}

/* Return what a thread in `open` waits for: a pipe by name without its other
 * end, or the disk, which signals do not interrupt. */
static uint32_t
wait_for_opening(uint32_t system_id)
{
    char path[64];
    char text[128];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/stat", system_id);
    fd_proc_file_read(path, text, sizeof text);
    return strstr(text, ") S ") != NULL ? FD_WAIT_PIPE : FD_WAIT_FILE;
}

static uint32_t
wait_in_call(long call, uint64_t first, uint32_t system_id)
{
    switch (call) {
    case SYS_futex:
    case SYS_flock:
        return FD_WAIT_LOCK;
    case SYS_openat:
        return wait_for_opening(system_id);
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return FD_WAIT_SLEEP;
    case SYS_wait4:
    case SYS_waitid:
        return FD_WAIT_CHILD;
    case SYS_read:
    case SYS_write:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
        return wait_for_file(first);
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
        return FD_WAIT_POLL;
    default:
        return FD_WAIT_OTHER;
    }
}

/* Return what a thread waits for (FD_WAIT_*). */
static uint32_t
wait_of(uint32_t system_id)
{
    char path[64];
    char text[160];
    long call;
    uint64_t first;
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/syscall",
             system_id);
    fd_proc_file_read(path, text, sizeof text);
    return sscanf(text, "%ld %" SCNx64, &call, &first) == 2
             ? wait_in_call(call, first, system_id)
             : FD_WAIT_UNKNOWN;
}

/* Return whether the thread has waited since the previous look, for most of
 * the time in which it had or did not need a CPU. */
static bool
thread_waits(const fd_watched *at, const fd_thread_turns *turns, uint64_t now)
{
    double ns = (double)(now - at->seen) * 1e9 / fd_clock_hertz();
    double queued = (double)(turns->queued - at->turns.queued);
    double ran = (double)(turns->ran - at->turns.ran);
    return at->seen != 0 && 2.0 * ran < ns - queued;
}

/* Return whether the thread began or ended to stand still. A thread that waits
 * again and again keeps its reason when it happens to run. */
static bool
look_at_thread(fd_watched *at, uint64_t now)
{
    bool before = at->still;
    fd_thread_turns turns = {0, 0, 0};
    bool known = fd_thread_turns_of(at->system_id, &turns);
    uint32_t waits = wait_of(at->system_id);
    at->still = known && turns.slices == at->turns.slices;
    if (!at->still) {
        at->looked = now;
    }
    if (waits != FD_WAIT_UNKNOWN || !thread_waits(at, &turns, now)) {
        atomic_store_explicit(&at->record->waits, waits, memory_order_relaxed);
    }
    at->turns = turns;
    at->seen = now;
    atomic_store_explicit(&at->record->still, at->still ? at->looked : 0,
                          memory_order_relaxed);
    return at->still != before;
}

/* Create the chunk for the calls of a thread. Return false if there is no
 * space. */
static bool
calls_have_room(fd_thread_watch *watch, fd_watched *at)
{
    fd_recording *recording = watch->recording;
    if (at->calls == NULL) {
        pthread_mutex_lock(&recording->lock);
        fd_status status = fd_file_chunk(
            &recording->file, FD_CHUNK_WATCHED, sizeof(fd_entry),
            sizeof(fd_chunk) + MOST_CALLS * sizeof(fd_entry),
            fd_file_id(&recording->file, at->record), &at->calls);
        pthread_mutex_unlock(&recording->lock);
        if (status != FD_OK) {
            watch->calls_of = NULL;
        }
    }
    return watch->calls_of != NULL;
}

/* Return whether an entry of a stack is for this frame, and for the code whose
 * number is in `start`. */
static bool
is_entry_of(const fd_file *file, const fd_entry *old, const fd_entry *entry)
{
    uint64_t code = old->start >> FD_FOLLOWED_TICK_BITS;
    if (old->owner != entry->owner || (old->flags & FD_ENTRY_FRAME) == 0) {
        return false;
    }
    if ((old->flags & FD_ENTRY_FOLLOWED) == 0) {
        const fd_context *context = fd_file_record(file, old->context);
        code = context->callee;
    }
    return FD_FOLLOWED(code, 0) == entry->start;
}

/* Return the tick since which the call of an entry is known to be open. If its
 * function has not returned, it is the one on the stack that its thread had
 * before the watched steps. */
static FD_READS_RUNNING uint64_t
known_since(const fd_file *file, const fd_watched *at, const fd_entry *entry,
            uint64_t now)
{
    const fd_header *header = fd_file_header(file);
    const fd_entry *old =
        (const fd_entry *)((const char *)header + at->record->stack);
    uint32_t depth =
        (entry->flags & FD_ENTRY_UNHOOKED) != 0 ? 0 : at->record->depth;
    for (uint32_t i = 0; i < depth; i++, old++) {
        if (is_entry_of(file, old, entry)) {
            return (old->flags & FD_ENTRY_FOLLOWED) != 0
                     ? fd_followed_tick(old->start, header->start.ticks)
                     : old->start;
        }
    }
    return at->still ? at->looked : now;
}

/* Write the open calls of a thread. Return whether they changed. */
static bool
write_calls(fd_thread_watch *watch, fd_watched *at, uint64_t now)
{
    const fd_file *file = &watch->recording->file;
    fd_entry entries[MOST_CALLS];
    uint32_t count = watch->calls_of(at->system_id, entries, MOST_CALLS);
    if (!calls_have_room(watch, at)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        entries[i].context = at->record->root;
        entries[i].start |=
            FD_FOLLOWED(0, known_since(file, at, &entries[i], now));
        entries[i].flags &= ~(uint32_t)FD_ENTRY_UNHOOKED;
    }
    size_t size = count * sizeof *entries;
    fd_entry *written = fd_chunk_records(at->calls);
    bool changed =
        at->calls->used != count || memcmp(written, entries, size) != 0;
    atomic_store_explicit(&at->calls->used, 0, memory_order_release);
    atomic_store_explicit(&at->calls->first, now, memory_order_release);
    at->calls->partner = at->system_id;
    memcpy(written, entries, size);
    atomic_store_explicit(&at->calls->used, count, memory_order_release);
    return changed;
}

/* Find the open calls of a thread if its stack is old. Return whether lines
 * have to be found again. */
static bool
look_at_calls(fd_thread_watch *watch, fd_watched *at, uint64_t now)
{
    bool before = at->watched;
    bool changed = false;
    at->watched = at->record->running >= FD_THREAD_WATCHED;
    if (at->watched && watch->calls_of != NULL) {
        changed = write_calls(watch, at, now);
    }
    return at->still && (changed || before != at->watched);
}

/* Add the lines of the open calls of a thread that stands still. */
static FD_READS_RUNNING void
add_lines(const fd_thread_watch *watch, const fd_watched *at, uint32_t *used)
{
    const fd_file *file = &watch->recording->file;
    const fd_thread_record *record = at->record;
    bool found = at->watched && at->calls != NULL;
    const fd_entry *entries =
        found ? fd_chunk_records(at->calls)
              : (const fd_entry *)((const char *)fd_file_header(file)
                                   + record->stack);
    fd_open_line *lines = fd_chunk_records(watch->lines);
    uint32_t depth = found ? at->calls->used : record->depth;
    for (uint32_t i = 0; i < depth && *used < watch->lines->capacity; i++) {
        fd_entry entry = entries[i];
        uint32_t line = (entry.flags & FD_ENTRY_FRAME) != 0
                          ? watch->line_of(entry.owner)
                          : 0;
        if (line != 0) {
            lines[(*used)++] = (fd_open_line){
                fd_file_id(file, record), i, line, FD_OPEN_LINE_CHECK(&entry)};
        }
    }
}

/* Write the lines of all threads that stand still. */
static void
write_lines(fd_thread_watch *watch)
{
    fd_recording *recording = watch->recording;
    uint32_t used = 0;
    if (watch->lines == NULL) {
        pthread_mutex_lock(&recording->lock);
        fd_status status =
            fd_file_chunk(&recording->file, FD_CHUNK_LINES,
                          sizeof(fd_open_line), LINES_BYTES, 0, &watch->lines);
        pthread_mutex_unlock(&recording->lock);
        if (status != FD_OK) {
            watch->line_of = NULL;
            return;
        }
    }
    atomic_store_explicit(&watch->lines->used, 0, memory_order_release);
    for (uint32_t i = 0; i < watch->threads.count; i++) {
        if (watch->threads.list[i].still) {
            add_lines(watch, &watch->threads.list[i], &used);
        }
    }
    atomic_store_explicit(&watch->lines->used, used, memory_order_release);
}

/* List the threads that are recorded now. Records are never removed, so a
 * thread keeps its index. */
static FD_READS_RUNNING void
list_threads(fd_thread_watch *watch)
{
    fd_recording *recording = watch->recording;
    uint32_t count = 0;
    pthread_mutex_lock(&recording->lock);
    for (fd_tree *at = recording->trees; at != NULL; at = at->next) {
        count++;
    }
    uint32_t known = watch->threads.count;
    fd_status status =
        fd_vector_reserve(&watch->threads, count > known ? count - known : 0);
    uint32_t to = status == FD_OK ? count : 0;
    for (fd_tree *at = recording->trees; at != NULL && to > 0; at = at->next) {
        fd_watched *watched = &watch->threads.list[--to];
        uint32_t id =
            at->record->running != FD_THREAD_NONE ? at->record->system_id : 0;
        if (to >= known) {
            *watched = (fd_watched){.record = at->record, .system_id = id};
        }
        else if (watched->system_id != id) {
            *watched = (fd_watched){.record = at->record,
                                    .system_id = id,
                                    .calls = watched->calls};
        }
    }
    watch->threads.count = status == FD_OK ? count : 0;
    pthread_mutex_unlock(&recording->lock);
}

/* While the first thread stands still, note when others do something: it may
 * wait for them. */
static void
look_at_work(fd_thread_watch *watch, uint64_t now)
{
    fd_process_work work = {0, 0};
    if (watch->threads.count == 0 || !watch->threads.list[0].still) {
        watch->measures = false;
        return;
    }
    fd_process_work_add(&work);
    for (uint32_t i = 0; i < watch->threads.count; i++) {
        if (watch->threads.list[i].system_id != 0) {
            fd_process_work_add_children(&work,
                                         watch->threads.list[i].system_id);
        }
    }
    if (watch->measures && fd_process_worked(&watch->work, &work)) {
        fd_header *header = fd_file_header(&watch->recording->file);
        atomic_store_explicit(&header->others_ran, now, memory_order_relaxed);
    }
    watch->work = work;
    watch->measures = true;
}

void
fd_thread_watch_look(fd_thread_watch *watch)
{
    uint64_t now = fd_clock_ticks();
    list_threads(watch);
    bool changed = false;
    for (uint32_t i = 0; i < watch->threads.count; i++) {
        fd_watched *at = &watch->threads.list[i];
        if (at->system_id != 0) {
            changed |= look_at_thread(at, now);
            changed |= look_at_calls(watch, at, now);
        }
    }
    if (changed && watch->line_of != NULL) {
        write_lines(watch);
    }
    look_at_work(watch, now);
    fd_header *header = fd_file_header(&watch->recording->file);
    atomic_store_explicit(&header->seen_alive, now, memory_order_relaxed);
}

/* Wait for some ticks, or for the end of the watch. */
static void
wait_ticks(fd_thread_watch *watch, uint64_t ticks)
{
    double seconds = (double)ticks / fd_clock_hertz();
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + (int64_t)(seconds * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    while (!watch->ends
           && pthread_cond_timedwait(&watch->wake, &watch->lock, &until)
                  == 0) {
    }
}

static void *
watch_threads(void *context)
{
    fd_thread_watch *watch = context;
    uint64_t period = PERIOD_S * (uint64_t)fd_clock_hertz();
    uint64_t look = fd_clock_ticks() + period;
    pthread_mutex_lock(&watch->lock);
    while (!watch->ends) {
        uint64_t now = fd_clock_ticks();
        uint64_t alarm = watch->alarm != NULL ? watch->alarm(now) : UINT64_MAX;
        uint64_t next = alarm < look ? alarm : look;
        wait_ticks(watch, next > now ? next - now : 0);
        if (!watch->ends && fd_clock_ticks() >= look) {
            fd_thread_watch_look(watch);
            look = fd_clock_ticks() + period;
        }
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static bool
watch_is_prepared(fd_thread_watch *watch)
{
    pthread_condattr_t clock;
    if (!watch->prepared && pthread_condattr_init(&clock) == 0) {
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        watch->prepared = pthread_cond_init(&watch->wake, &clock) == 0
                       && pthread_mutex_init(&watch->lock, NULL) == 0;
        pthread_condattr_destroy(&clock);
    }
    return watch->prepared;
}

void
fd_thread_watch_start(fd_thread_watch *watch, fd_recording *recording)
{
    pthread_attr_t attributes;
    if (watch->running || !watch_is_prepared(watch)
        || pthread_attr_init(&attributes) != 0) {
        return;
    }
    sigset_t all;
    sigset_t before;
    watch->recording = recording;
    watch->ends = false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch->running =
        pthread_create(&watch->thread, &attributes, watch_threads, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void
fd_thread_watch_end(fd_thread_watch *watch)
{
    if (watch->running) {
        pthread_mutex_lock(&watch->lock);
        watch->ends = true;
        pthread_cond_signal(&watch->wake);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
        watch->running = false;
        atomic_store_explicit(
            &fd_file_header(&watch->recording->file)->seen_alive, 0,
            memory_order_relaxed);
    }
}

void
fd_thread_watch_clear(fd_thread_watch *watch)
{
    if (watch->prepared) {
        pthread_cond_destroy(&watch->wake);
        pthread_mutex_destroy(&watch->lock);
    }
    fd_vector_clear(&watch->threads);
}
