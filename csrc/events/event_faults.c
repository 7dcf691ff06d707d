#include "events/event_faults.h"

const fd_fault_text fd_fault_texts[FD_FAULT_KINDS] = {
    [FD_FAULT_DAMAGE] = {"damage", true, "places that are not JSON",
                         "`timeline merge` keeps the intact events"},
    [FD_FAULT_REPAIR] = {"repair", true,
                         "invalid JSON values: NaN, control characters, "
                         "invalid UTF-8",
                         "`timeline merge` or `timeline cut` writes valid "
                         "JSON"},
    [FD_FAULT_PHASE] = {"phase", true, "events with an unknown ph",
                        "viewers skip them"},
    [FD_FAULT_NAME] = {"name", true, "events without a name",
                       "viewers show [No name]"},
    [FD_FAULT_PID] = {"pid", true, "events without a pid",
                      "viewers assign them to process 0"},
    [FD_FAULT_TEXT_ID] = {"text-id", false,
                          "events whose pid or tid is not a whole number "
                          "below 2^32",
                          "Perfetto assigns numbers; so does `timeline "
                          "merge`"},
    [FD_FAULT_TIME] = {"time", true, "events whose ts is not a number",
                       "viewers drop them"},
    [FD_FAULT_NEGATIVE] = {"negative", true, "events before time 0",
                           "Perfetto drops them: shift the file with "
                           "`timeline merge --align start`"},
    [FD_FAULT_DURATION] = {"duration", true,
                           "slices whose dur is not a number from 0 on",
                           "Perfetto drops them"},
    [FD_FAULT_END_NAME] = {"end-name", true,
                           "ends with another name than their slice",
                           "viewers leave the slice open"},
    [FD_FAULT_END] = {"end", false, "ends of slices without a begin",
                      "the slices began before the capture: viewers skip "
                      "the ends"},
    [FD_FAULT_BEGIN] = {"begin", false, "slices without an end",
                        "viewers draw them to the end of the trace"},
    [FD_FAULT_OVERLAP] = {"overlap", true,
                          "slices that partly overlap another of their "
                          "thread",
                          "Perfetto drops them: move them to another thread, "
                          "or merge to .pftrace"},
    [FD_FAULT_PROFILER_OVERLAP] = {"profiler-overlap", false,
                                   "slices of torch.profiler that partly "
                                   "overlap another of their thread",
                                   "Perfetto drops them; `timeline merge` to "
                                   ".pftrace keeps them"},
    [FD_FAULT_ID] = {"id", true, "flow or asynchronous events without an id",
                     "nothing connects them"},
    [FD_FAULT_FLOW_START] = {"flow-start", false,
                             "flow steps and ends without an earlier start",
                             "the flow began outside the capture: viewers "
                             "draw no arrow"},
    [FD_FAULT_FLOW_END] = {"flow-end", false, "flow starts without an end",
                           "the flow ends outside the capture: viewers draw "
                           "no arrow"},
    [FD_FAULT_FLOW_SLICE] = {"flow-slice", false,
                             "flow events outside of all slices",
                             "viewers draw no arrow, or one to another "
                             "slice"},
    [FD_FAULT_ASYNC_END] = {"async-end", false,
                            "asynchronous ends without a begin",
                            "they began before the capture: viewers drop "
                            "them"},
    [FD_FAULT_ASYNC_BEGIN] = {"async-begin", false,
                              "asynchronous begins without an end",
                              "viewers draw them to the end of the trace"},
    [FD_FAULT_COUNTER] = {"counter", true, "counters without a number",
                          "Perfetto drops them"},
    [FD_FAULT_METADATA] = {"metadata", true,
                           "metadata rows without their argument",
                           "viewers skip them"},
    [FD_FAULT_NO_NAME] = {"unnamed-process", false,
                          "processes without a process_name",
                          "viewers show their pid"},
    [FD_FAULT_TWO_NAMES] = {"renamed-process", true,
                            "processes with two names",
                            "viewers show the last one"},
    [FD_FAULT_SAME_NAME] = {"same-name", false,
                            "processes with the name of another one",
                            "viewers show both, with their pids"},
    [FD_FAULT_STEPS] = {"steps", true,
                        "steps of a process that begin after a later one",
                        "numbers should grow with time"},
    [FD_FAULT_RANKS] = {"ranks", true,
                        "rows of `ranks` that are duplicate, without a "
                        "process, or missing",
                        "merge the traces of the ranks again"},
};

static void
insert(fd_fault_place *list, fd_fault_place place)
{
    for (int i = 0; i < FD_FAULT_PLACES; i++) {
        bool before = list[i].event == 0 && list[i].byte == 0;
        if (before || place.byte < list[i].byte) {
            fd_fault_place next = list[i];
            list[i] = place;
            place = next;
        }
    }
}

void
fd_faults_add(fd_faults *faults, fd_fault fault, fd_fault_place place)
{
    faults->count[fault]++;
    if (place.event != 0 || place.byte != 0) {
        insert(faults->first[fault], place);
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
