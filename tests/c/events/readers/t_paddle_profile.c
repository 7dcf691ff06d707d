#include "check.h"
#include "fixtures.h"

#include "events/tools/timeline_merge.h"

#include <string.h>
#include <sys/stat.h>

#define JOB(type, start, end) \
    "Profiler Info: Job (0), type = " type ", micro_batch_id = 0, " \
    "job_start_time = " start ".000000, job_end_time = " end ".000000\n"

static fd_status
profile(fd_timeline_request *request, fd_timeline_input *inputs,
        uint32_t count, fd_buffer *plain, fd_buffer *numbered)
{
    request->paddle = true;
    mkdir(request->output, 0777);
    fd_status status = fd_timeline_merge(request, inputs, count, NULL);
    if (status == FD_OK) {
        status = fixture_read("out/pipeline_profile.json", plain);
    }
    if (status == FD_OK) {
        status = fixture_read("out/pipeline_profile_perfetto.json", numbered);
    }
    fd_buffer_bytes(plain, "", 1);
    fd_buffer_bytes(numbered, "", 1);
    return status != FD_OK        ? status
         : plain->status != FD_OK ? plain->status
                                  : numbered->status;
}

static void
byte_for_byte(void)
{
    CLEAN(fd_buffer_clear) fd_buffer plain = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer numbered = {.bytes = NULL};
    fd_timeline_input input = {.path = "workerlog.2", .rank = 2};
    fd_timeline_request request = {
        .output = "out", .align = FD_ALIGN_WALL, .named_durations = true};
    OK(fixture_write_text(
        "workerlog.2",
        "Schedule Profiler start at step 4 and end at step 5\n" JOB(
            "forward", "10", "12")));
    OK(profile(&request, &input, 1, &plain, &numbered));
#define EDGE(name, cat, phase, ts, tid, color, args) \
    "{\"name\":\"" name "\",\"cat\":\"" cat "\",\"ph\":\"" phase \
    "\",\"ts\":" ts ",\"pid\":0,\"tid\":" tid \
    ",\"cname\":\"thread_state_" color "\"" args "}"
#define ARGS ",\"args\":{\"job\":0,\"micro_batch\":0,\"step\":4}"
#define EDGES(gpu, step) \
    EDGE("forward_0 (2.000 ms)", "forward", "B", "10000.000", gpu, "running", \
         ARGS) \
    ",\n" EDGE( \
        "forward_0 (2.000 ms)", "forward", "E", "12000.000", gpu, "running", \
        "") ",\n" EDGE("step4 (2.000 ms)", "step", "B", "10000.000", step, \
                       "unknown", "") ",\n" EDGE("step4 (2.000 ms)", "step", \
                                                 "E", "12000.000", step, \
                                                 "unknown", "")
    SAME(plain.bytes,
         "{\"traceEvents\":[\n" EDGES("\"GPU2\"", "\"Step\"") "\n]}\n");
#define ROW(name, tid) \
    ",\n{\"args\":{\"name\":\"" name "\"},\"cat\":\"__metadata\"," \
    "\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":" #tid \
    ",\"ts\":0}"
    SAME(numbered.bytes, "{\"traceEvents\":[\n" EDGES("2334", "2333")
                             ROW("STEP", 2333) ROW("GPU:2", 2334) "\n]}\n");
}

/* Two machines, the second of which lost the first step. */
static void
steps_are_joined_by_time(void)
{
    CLEAN(fd_buffer_clear) fd_buffer plain = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer numbered = {.bytes = NULL};
    fd_timeline_input inputs[] = {{.path = "machine0/workerlog.0", .rank = 0},
                                  {.path = "machine1/workerlog.0", .rank = 1}};
    fd_timeline_request request = {.output = "out", .align = FD_ALIGN_WALL};
    mkdir("machine0", 0777);
    mkdir("machine1", 0777);
    OK(fixture_write_text("machine0/workerlog.0",
                          JOB("forward", "10", "12") JOB("forward", "20", "22")
                              JOB("forward", "30", "32")));
    OK(fixture_write_text("machine1/workerlog.0",
                          JOB("forward", "21", "23")
                              JOB("forward", "31", "33")));
    OK(profile(&request, inputs, 2, &plain, &numbered));
    HAS(plain.bytes, "\"ts\":21000.000,\"pid\":0,\"tid\":"
                     "\"GPU0(machine:1)\",\"cname\":"
                     "\"thread_state_running\",\"args\":{\"job\":0,"
                     "\"micro_batch\":0,\"step\":1}");
    HAS(plain.bytes, "{\"name\":\"step1\",\"cat\":\"step\",\"ph\":"
                     "\"E\",\"ts\":23000.000,");
    HAS(numbered.bytes, "\"GPU:0(machine:1)\"");
    HAS(numbered.bytes, "\"tid\":2335,\"cname\"");
}

/* Of chosen steps; and without a job nothing is written. */
static void
chosen_steps(void)
{
    CLEAN(fd_buffer_clear) fd_buffer plain = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer numbered = {.bytes = NULL};
    fd_timeline_input input = {.path = "workerlog.0"};
    fd_timeline_request request = {
        .output = "out", .has_steps = true, .first_step = 1, .end_step = 2};
    fd_error error = {""};
    OK(fixture_write_text("workerlog.0", JOB("forward", "10", "12")
                                             JOB("forward", "20", "22")));
    OK(profile(&request, &input, 1, &plain, &numbered));
    EQUAL(input.events, 1);
    HAS(plain.bytes, "\"step1\"");
    CHECK(strstr(plain.bytes, "\"step0\"") == NULL);
    request.first_step = 7;
    request.end_step = 9;
    request.output = "none";
    mkdir("none", 0777);
    input = (fd_timeline_input){.path = "workerlog.0"};
    STATUS(fd_timeline_merge(&request, &input, 1, &error), FD_EFORMAT);
    SAME(error.text,
         "workerlog.0: no job of these steps in it: nothing is written");
    STATUS(fixture_read("none/pipeline_profile.json", &plain), FD_EIO);
}

RUN(TEST(byte_for_byte), TEST(steps_are_joined_by_time), TEST(chosen_steps))
