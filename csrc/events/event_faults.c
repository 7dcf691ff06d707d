#include "events/event_faults.h"

#include <stdio.h>
#include <string.h>

const fd_fault_text fd_fault_texts[FD_FAULT_KINDS] = {
    [FD_FAULT_DAMAGE] = {"damage", true, "place", "without valid JSON",
                         "`timeline merge` keeps the intact events"},
    [FD_FAULT_REPAIR] = {"repair", true, "invalid JSON value",
                         "(NaN, control characters or invalid UTF-8)",
                         "`timeline merge` writes valid JSON"},
    [FD_FAULT_BACKSLASH] =
        {"backslash", true, "string escape",
         "without a meaning in JSON: lone backslashes, as in Windows paths",
         "`timeline merge` writes valid JSON"},
    [FD_FAULT_EMPTY] = {"empty", false, "event", "without any member",
                        "JAX and TensorFlow end the list with one: viewers "
                        "skip it"},
    [FD_FAULT_PHASE] = {"phase", true, "event", "with an unknown ph",
                        "viewers skip such events"},
    [FD_FAULT_NAME] = {"name", true, "event", "without a name",
                       "viewers show [No name]"},
    [FD_FAULT_PID] = {"pid", true, "event", "without a pid",
                      "viewers assign such events to process 0"},
    [FD_FAULT_TEXT_ID] =
        {"text-id", false, "event",
         "with a pid or tid that is not a whole number below 2^32",
         "Perfetto assigns numbers; so does `timeline merge`"},
    [FD_FAULT_TIME] = {"time", true, "event",
                       "with a ts that is not a number, or too large",
                       "viewers drop such events"},
    [FD_FAULT_NEGATIVE] = {"negative", true, "event", "before time 0",
                           "Perfetto drops such events: shift the file with "
                           "`timeline merge --align start`"},
    [FD_FAULT_FAR] = {"far", false, "event", "far from all others",
                      "a time that was not set, or of another clock: "
                      "`timeline stats` does not count such slices"},
    [FD_FAULT_DURATION] =
        {"duration", true, "slice",
         "with a dur that is negative, too large or not a number",
         "Perfetto drops such slices"},
    [FD_FAULT_END_NAME] = {"end-name", true, "slice end",
                           "with a name that differs from the begin",
                           "viewers leave the slice open"},
    [FD_FAULT_END] =
        {"end", false, "slice end", "without a begin",
         "the slice began before the capture: viewers skip the end"},
    [FD_FAULT_BEGIN] = {"begin", false, "slice", "without an end",
                        "viewers draw such slices to the end of the trace"},
    [FD_FAULT_OVERLAP] = {"overlap", true, "slice",
                          "with a partial overlap within a thread",
                          "Perfetto drops such slices: move them to another "
                          "thread, or merge to .pftrace"},
    [FD_FAULT_PROFILER_OVERLAP] =
        {"profiler-overlap", false, "slice",
         "of torch.profiler with a partial overlap within a thread",
         "Perfetto drops such slices; `timeline merge` to .pftrace keeps "
         "them"},
    [FD_FAULT_KERNEL_OVERLAP] =
        {"kernel-overlap", false, "kernel",
         "inside another kernel of the stream",
         "a stream runs one kernel at a time: the times of these, or of the "
         "kernels around them, are wrong"},
    [FD_FAULT_ID] = {"id", true, "flow or asynchronous event", "without an id",
                     "viewers cannot connect such events"},
    [FD_FAULT_FLOW_START] =
        {"flow-start", false, "flow event", "without an earlier start",
         "the flow began outside the capture: viewers draw no arrow"},
    [FD_FAULT_FLOW_END] =
        {"flow-end", false, "flow start", "without an end",
         "the flow ends outside the capture: viewers draw no arrow"},
    [FD_FAULT_FLOW_SLICE] = {"flow-slice", false, "flow event",
                             "outside of all slices",
                             "viewers draw no arrow, or one to another slice"},
    [FD_FAULT_ASYNC_END] =
        {"async-end", false, "asynchronous end", "without a begin",
         "the operation began before the capture: viewers drop the end"},
    [FD_FAULT_ASYNC_BEGIN] =
        {"async-begin", false, "asynchronous begin", "without an end",
         "viewers draw the operation to the end of the trace"},
    [FD_FAULT_COUNTER] = {"counter", true, "counter", "without a number",
                          "Perfetto drops such counters"},
    [FD_FAULT_METADATA] = {"metadata", true, "metadata row",
                           "without the required argument",
                           "viewers skip such rows"},
    [FD_FAULT_NO_NAME] = {"unnamed-process", false, "process",
                          "without a process_name", "viewers show the pid"},
    [FD_FAULT_TWO_NAMES] = {"renamed-process", true, "process",
                            "with two names", "viewers show the last name"},
    [FD_FAULT_SAME_NAME] = {"same-name", false, "process",
                            "with the name of another process",
                            "viewers show both, with their pids"},
    [FD_FAULT_STEPS] = {"steps", true, "step", "out of order",
                        "the numbers of steps should grow with time"},
    [FD_FAULT_RANKS] =
        {"ranks", true, "problem",
         "in `ranks`: a row that is duplicate, missing or without a process",
         "merge the traces of the ranks again"},
};

void
fd_fault_describe(fd_fault fault, uint64_t count, char text[FD_FAULT_TEXT])
{
    const fd_fault_text *of = &fd_fault_texts[fault];
    size_t size = strlen(of->noun);
    const char *ending = count == 1                ? ""
                       : of->noun[size - 1] == 's' ? "es"
                                                   : "s";
    snprintf(text, FD_FAULT_TEXT, "%s%s %s", of->noun, ending, of->what);
}

static void
insert_position(fd_fault_position *list, fd_fault_position position)
{
    for (int i = 0; i < FD_FAULT_POSITIONS; i++) {
        bool before = list[i].event == 0 && list[i].byte == 0;
        if (before || position.byte < list[i].byte) {
            fd_fault_position next = list[i];
            list[i] = position;
            position = next;
        }
    }
}

void
fd_faults_add(fd_faults *faults, fd_fault fault, fd_fault_position position)
{
    faults->count[fault]++;
    if (position.event != 0 || position.byte != 0) {
        insert_position(faults->first[fault], position);
    }
}

static uint64_t
sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void
fd_faults_add_many(fd_faults *faults, fd_fault fault, uint64_t count)
{
    faults->count[fault] = sum_of(faults->count[fault], count);
}

uint64_t
fd_faults_broken(const fd_faults *faults)
{
    uint64_t sum = 0;
    for (int i = 0; i < FD_FAULT_KINDS; i++) {
        sum = fd_fault_texts[i].broken ? sum_of(sum, faults->count[i]) : sum;
    }
    return sum;
}
