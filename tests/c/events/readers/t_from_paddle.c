#include "check.h"
#include "timelines.h"

#include <sys/stat.h>

#define JOB(number, type, batch, start, end) \
    "I1020 executor.cc:217] Profiler Info: Job (" number "), type = " type \
    ", micro_batch_id = " batch ", job_start_time = 1000000000000." start \
    ", job_end_time = 1000000000000." end "\n"

static const char LOG[] =
    "hello\r\nINFO: Schedule Profiler start at step 5 and end at step 7\n" JOB(
        "0", "default", "0", "000001", "000003") JOB("0", "lr", "0", "000002",
                                                     "000005")
        JOB("0", "forward", "0", "001000", "002000") "loss: 3" JOB(
            "1", "forward", "1", "002000",
            "003000") "Profiler Info: Job (2), type = forw\n" JOB("0", "lr",
                                                                  "0",
                                                                  "004000",
                                                                  "004005")
            JOB("0", "backward_b", "0", "004005", "009000");

static fd_status
read_all(const char *path, fd_buffer *to, fd_timeline_reader *reader)
{
    fd_status status = fixture_items(path, to, reader);
    fd_buffer_bytes(to, "", 1);
    return status;
}

static void
jobs_and_steps(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
    reader = (fd_timeline_reader){.in = {.fd = -1}};
    mkdir("machine1", 0777);
    OK(fixture_write("machine1/workerlog.3", LOG, sizeof LOG - 1));
    OK(read_all("machine1/workerlog.3", &to, &reader));
#define ROW(what, thread, name) \
    "{\"ph\":\"M\",\"pid\":3,\"tid\":" #thread ",\"name\":\"" what \
    "\",\"args\":{\"name\":\"" name "\"}}\n"
#define SLICE(type, name, thread, ts, dur, args) \
    "{\"ph\":\"X\",\"pid\":3,\"tid\":" #thread ",\"ts\":" #ts \
    ",\"dur\":" #dur ",\"name\":\"" name "\",\"cat\":\"" type \
    "\",\"args\":{" args "}}\n"
    CLEAN(fd_buffer_clear) fd_buffer wanted = {.bytes = NULL};
    OK(JOIN(&wanted, "",
            "displayTimeUnit:\"ns\"\nbaseTimeNanoseconds:1000000000000000001\n"
            "host_name:\"machine1\"\npaddle:{\"device\":3,\"jobs\":6,\"first_"
            "step\":5}\n",
            ROW("process_name", 0, "GPU 3"), ROW("thread_name", 1, "Steps"),
            ROW("thread_name", 2, "Jobs"),
            SLICE("default", "default_0", 2, 0.000, 0.002,
                  "\"job\":0,\"micro_batch\":0"),
            SLICE("lr", "lr_0", 2, 0.001, 0.003,
                  "\"job\":0,\"micro_batch\":0,\"step\":5"),
            SLICE("forward", "forward_0", 2, 0.999, 1.000,
                  "\"job\":0,\"micro_batch\":0,\"step\":5"),
            SLICE("forward", "forward_1", 2, 1.999, 1.000,
                  "\"job\":1,\"micro_batch\":1,\"step\":5"),
            SLICE("step", "step 5", 1, 0.001, 2.998, "\"step\":5"),
            SLICE("lr", "lr_0", 2, 3.999, 0.005,
                  "\"job\":0,\"micro_batch\":0,\"step\":6"),
            SLICE("backward_b", "backward_b_0", 2, 4.004, 4.995,
                  "\"job\":0,\"micro_batch\":0,\"step\":6"),
            SLICE("step", "step 6", 1, 3.999, 5.000, "\"step\":6")));
    SAME(to.bytes, wanted.bytes);
    SAME(reader.source->name, "log of Paddle");
    EQUAL(reader.lost, 1);
    SAME(reader.trouble, "1 invalid job, the first in line 7");
    EQUAL(reader.in.read, reader.in.size);
}

/* By its name, or by what is in it. */
static void
detection_of_logs(void)
{
    static const struct {
        const char *path;
        const char *text;
        const char *trouble;
    } cases[] = {
        {"workerlog.0", "hello\n", "no line \"Profiler Info: Job\" in it"},
        {"workerlog.0", "", "no line \"Profiler Info: Job\" in it"},
        {"some.log", "Profiler Info: Job (2\nProfiler Info: Job (2\n",
         "none of the 2 lines of the profiler is complete"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
        OK(fixture_write_text(cases[i].path, cases[i].text));
        STATUS(fd_timeline_reader_open(&reader, cases[i].path, NULL),
               FD_EFORMAT);
        SAME(reader.trouble, cases[i].trouble);
    }
}

/* A log of many pieces, and of a line that is larger than any window. */
static void
large_logs(void)
{
    CLEAN(fd_buffer_clear) fd_buffer log = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
    reader = (fd_timeline_reader){.in = {.fd = -1}};
    for (int i = 0; i < 2000; i++) {
        fd_buffer_text(&log, JOB("1", "forward", "1", "002000", "003000"));
    }
    while (log.size < 17 << 20 && log.status == FD_OK) {
        fd_buffer_text(&log, "0123456789012345678901234567890123456789");
    }
    fd_buffer_text(&log, "\n" JOB("1", "last", "1", "002000", "003000"));
    OK(log.status);
    OK(fixture_write("workerlog.0", log.bytes, log.size));
    OK(read_all("workerlog.0", &to, &reader));
    EQUAL(reader.lost, 0);
    HAS(to.bytes, "\"jobs\":2001,");
    HAS(to.bytes, "\"last_1\"");
}

RUN(TEST(jobs_and_steps), TEST(detection_of_logs), TEST(large_logs))
