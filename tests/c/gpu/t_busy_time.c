#include "check.h"

#include "gpu/busy_time.h"

static uint64_t late_of[8]; /* by log */
static uint64_t known;      /* the largest part with a call path */

static uint64_t
note_late(void *user, uint32_t device, uint32_t log, uint64_t from,
          uint64_t to)
{
    (void)user;
    (void)device;
    uint64_t part = to - from < known ? to - from : known;
    late_of[log] += part;
    return part;
}

#define TIME(time) \
    CLEAN(fd_busy_time_clear) fd_busy_time time = {.late = note_late}; \
    known = UINT64_MAX; \
    for (int i = 0; i < 8; i++) { \
        late_of[i] = 0; \
    } \
    OK(fd_vector_reserve(&time.waiting, 16)); \
    OK(fd_vector_reserve(&time.devices, 2))

/* A kernel on stream 7 of device 0 for computing. */
static void
add(fd_busy_time *time, uint32_t log, uint64_t launched, uint64_t start,
    uint64_t end)
{
    fd_busy_kernel kernel = {.start = start,
                             .end = end,
                             .launched = launched,
                             .stream = 7,
                             .log = log};
    fd_busy_time_add(time, &kernel);
}

static void
add_use(fd_busy_time *time, fd_gpu_use use, uint64_t start, uint64_t end)
{
    fd_busy_kernel kernel = {.start = start,
                             .end = end,
                             .launched = 1,
                             .stream = 10 + use,
                             .use = use};
    fd_busy_time_add(time, &kernel);
}

static void
check_sum(const fd_busy_device *device)
{
    uint64_t sum = 0;
    for (int i = 0; i < FD_USES; i++) {
        sum += device->busy[i];
    }
    for (int i = 0; i < FD_IDLE_CAUSES; i++) {
        sum += device->idle[i];
    }
    EQUAL(sum, device->window);
}

/* A kernel that was launched long before waits for the stream whose kernel
 * ended last, or for another process. */
TEST(tells_waiting_from_latency)
{
    TIME(time);
    add(&time, 1, 5, 1000000, 1000100);
    add_use(&time, FD_USE_COMMUNICATION, 1000100, 1000200);
    add(&time, 1, 6, 1000230, 1000240);          /* after the other stream */
    add(&time, 1, 7, 1000250, 1000260);          /* after its own one */
    add(&time, 1, 8, 1000260 + 200000, 1300000); /* for a peer */
    fd_busy_time_end(&time, 1300000);
    const fd_busy_device *device = &time.devices.list[0];
    FIELDS(device, (idle[FD_IDLE_WAIT], 30 + 200000),
           (idle[FD_IDLE_LAUNCH], 10), (idle[FD_IDLE_HOST], 0));
    check_sum(device);
}

/* The window begins before its first kernel if the device was idle then. */
TEST(begins_with_an_idle_device)
{
    TIME(time);
    fd_busy_time_begin(&time, 1000, 0);
    add(&time, 1, 1500, 1510, 1600);
    fd_busy_time_end(&time, 1600);
    EQUAL(time.devices.list[0].window, 600);
    EQUAL(late_of[1], 500);
    EQUAL(time.devices.list[0].idle[FD_IDLE_LAUNCH], 10);
    fd_busy_time_begin(&time, 1000000, 0); /* but the first kernel waited */
    add(&time, 2, 1000100, 2000000, 2000050);
    fd_busy_time_end(&time, 1000500);
    EQUAL(late_of[2], 0);
    EQUAL(time.devices.list[0].window, 650);
    fd_busy_time_begin(&time, 3000000, 1); /* that of another device */
    add(&time, 3, 3000100, 3000110, 3000120);
    fd_busy_time_end(&time, 3000120);
    EQUAL(late_of[3], 0);
    EQUAL(time.devices.list[0].window, 660);
    check_sum(&time.devices.list[0]);
}

/* Time between windows is not counted; between parts of a window it is. */
TEST(windows_are_apart)
{
    TIME(time);
    add(&time, 1, 10, 20, 50);
    fd_busy_time_settle(&time, 60);
    add(&time, 2, 70, 75, 80);
    add(&time, 2, 82, 85, 90);
    fd_busy_time_settle(&time, 81);
    EQUAL(late_of[2], 20);
    EQUAL(time.waiting.count, 1);
    fd_busy_time_end(&time, 90);
    EQUAL(late_of[2], 22);
    add(&time, 3, 1000, 1010, 1020);
    fd_busy_time_end(&time, 1020);
    EQUAL(late_of[3], 0);
    EQUAL(time.devices.list[0].window, 70 + 10);
    check_sum(&time.devices.list[0]);
}

/* The first steps are not counted, nor the part of a gap in them. */
TEST(counts_from_a_time_on)
{
    TIME(time);
    time.counted = 70;
    add(&time, 1, 10, 20, 50);
    add(&time, 2, 80, 85, 100);
    fd_busy_time_end(&time, 100);
    EQUAL(late_of[2], 10);
    EQUAL(time.devices.list[0].window, 30);
    check_sum(&time.devices.list[0]);
}

/* Devices are apart. Time without a known call path is not decided. */
TEST(devices_are_apart)
{
    TIME(time);
    known = 7;
    fd_busy_kernel other = {
        .start = 30, .end = 40, .launched = 25, .device = 1, .log = 2};
    add(&time, 1, 5, 10, 20);
    fd_busy_time_add(&time, &other);
    add(&time, 1, 50, 51, 60);
    fd_busy_time_end(&time, 60);
    FIELDS(&time.devices, (count, 2), (list[0].idle[FD_IDLE_HOST], 7),
           (list[0].idle[FD_IDLE_UNDECIDED], 23), (list[1].window, 30),
           (list[1].idle[FD_IDLE_END], 7));
    check_sum(&time.devices.list[0]);
    check_sum(&time.devices.list[1]);
}

/* A record that comes late counts as far as its time is not divided. */
TEST(late_records_count_in_part)
{
    TIME(time);
    add(&time, 1, 10, 20, 50);
    add(&time, 1, 90, 100, 110);
    fd_busy_time_settle(&time, 105);
    add(&time, 1, 15, 60, 130);
    fd_busy_time_end(&time, 140);
    EQUAL(time.devices.list[0].busy[FD_USE_COMPUTE], 30 + 10 + 20);
    EQUAL(time.devices.list[0].window, 120);
    check_sum(&time.devices.list[0]);
}

/* While kernels are missing, the time after the last one is not counted, nor
 * any time twice when they come. */
TEST(missing_kernels_are_not_idle_time)
{
    TIME(time);
    add(&time, 1, 10, 20, 50);
    fd_busy_time_end(&time, 0);
    add(&time, 1, 11, 40, 70);
    add(&time, 1, 80, 85, 90);
    fd_busy_time_end(&time, 95);
    const fd_busy_device *device = &time.devices.list[0];
    FIELDS(device, (window, 30 + 45), (busy[FD_USE_COMPUTE], 30 + 20 + 5),
           (idle[FD_IDLE_END], 5));
    check_sum(device);
}

/* The slow version: each nanosecond of a device for itself. */
enum { SPAN = 600, END = 500, KERNELS = 48 };

typedef struct slow_version {
    fd_busy_kernel kernels[KERNELS];
    fd_busy_device devices[2];
    uint64_t late[8];
} slow_version;

static void
count_idle_ns(slow_version *slow, fd_busy_device *to, uint64_t at,
              const fd_busy_kernel *next)
{
    bool outside = next != NULL && next->use == FD_USE_OUTSIDE;
    uint64_t launched = next == NULL ? END : outside ? 0 : next->launched;
    if (launched == 0) {
        to->idle[FD_IDLE_UNDECIDED]++;
    }
    else if (at < launched || next == NULL) {
        to->idle[next != NULL ? FD_IDLE_HOST : FD_IDLE_END]++;
        slow->late[next != NULL ? next->log : 0]++;
    }
    else {
        to->idle[FD_IDLE_LAUNCH]++;
    }
}

/* Count a nanosecond after the first kernel of the device. */
static void
count_ns(slow_version *slow, uint32_t number, uint64_t at)
{
    fd_busy_device *to = &slow->devices[number];
    bool runs[FD_USES + 1] = {false};
    const fd_busy_kernel *next = NULL;
    bool began = false;
    uint64_t from = 0;
    for (int i = 0; i < KERNELS; i++) {
        const fd_busy_kernel *each = &slow->kernels[i];
        if (each->device != number) {
            continue;
        }
        if (each->start > at) {
            next = next == NULL || each->start < next->start ? each : next;
            continue;
        }
        runs[each->use] |= at < each->end;
        from = each->end > from ? each->end : from;
        began |= each->use != FD_USE_OUTSIDE;
    }
    if (runs[FD_USE_OUTSIDE] || !began
        || (next == NULL && at >= END && at >= from)) {
        return;
    }
    to->window++;
    to->hidden += runs[FD_USE_COMPUTE] && runs[FD_USE_COMMUNICATION];
    for (int use = 0; use < FD_USES; use++) {
        if (runs[use]) {
            to->busy[use]++;
            return;
        }
    }
    count_idle_ns(slow, to, at, next);
}

static uint32_t
next_random(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

/* Make kernels of several streams and threads on two devices. No two of them
 * begin at once, or end at once. */
static void
make_kernels(slow_version *slow)
{
    bool begins[SPAN] = {false};
    bool ends[SPAN] = {false};
    for (int i = 0; i < KERNELS; i++) {
        uint64_t start;
        uint64_t end;
        do {
            start = 1 + next_random() % (END - 100);
            end = start + 1 + next_random() % 30;
        } while (begins[start] || ends[end]);
        begins[start] = ends[end] = true;
        uint64_t delay = next_random() % 20;
        slow->kernels[i] = (fd_busy_kernel){
            .start = start,
            .end = end,
            .launched =
                delay < start && next_random() % 8 != 0 ? start - delay : 0,
            .device = next_random() % 2,
            .stream = next_random() % 3,
            .use = next_random() % 8 == 0 ? FD_USE_OUTSIDE
                                          : next_random() % FD_USES,
            .log = 1 + next_random() % 3,
        };
    }
}

static void
compare_devices(const slow_version *slow, const fd_busy_time *time)
{
    for (uint32_t i = 0; i < time->devices.count; i++) {
        const fd_busy_device *device = &time->devices.list[i];
        const fd_busy_device *expected = &slow->devices[device->device];
        FIELDS(device, (window, expected->window), (hidden, expected->hidden));
        for (int use = 0; use < FD_USES; use++) {
            EQUAL(device->busy[use], expected->busy[use]);
        }
        for (int cause = 0; cause < FD_IDLE_CAUSES; cause++) {
            EQUAL(device->idle[cause], expected->idle[cause]);
        }
        check_sum(device);
    }
    for (int log = 0; log < 8; log++) {
        EQUAL(late_of[log], slow->late[log]);
    }
}

TEST(a_slow_version_agrees)
{
    for (int round = 0; round < 200; round++) {
        TIME(time);
        slow_version slow = {.late = {0}};
        make_kernels(&slow);
        OK(fd_vector_reserve(&time.waiting, KERNELS));
        for (int i = 0; i < KERNELS; i++) {
            fd_busy_time_add(&time, &slow.kernels[i]);
        }
        for (uint64_t at = 0; at < SPAN; at++) {
            count_ns(&slow, 0, at);
            count_ns(&slow, 1, at);
        }
        fd_busy_time_settle(&time, next_random() % 200);
        fd_busy_time_settle(&time, 200 + next_random() % 200);
        fd_busy_time_end(&time, END);
        compare_devices(&slow, &time);
    }
}
