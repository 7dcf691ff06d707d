#include "events/event_faults.h"

const fd_fault_text fd_fault_texts[FD_FAULT_KINDS] = {
    [FD_FAULT_DAMAGE] = {"damage", true, "places that are no JSON",
                         "`timeline merge` keeps what is whole"},
    [FD_FAULT_REPAIR] = {"repair", true,
                         "values that are no JSON: NaN, control characters, "
                         "bytes that are no UTF-8",
                         "`timeline merge` or `timeline cut` writes them as "
                         "JSON"},
    [FD_FAULT_PHASE] = {"phase", true, "events whose ph is not known",
                        "viewers skip them"},
    [FD_FAULT_NAME] = {"name", true, "events without a name",
                       "viewers show [No name]"},
    [FD_FAULT_PID] = {"pid", true, "events without a pid",
                      "viewers take them for process 0"},
    [FD_FAULT_TEXT_ID] = {"text-id", false,
                          "events whose pid or tid is no whole number below "
                          "2^32",
                          "Perfetto makes up numbers: `timeline merge` gives "
                          "real ones"},
    [FD_FAULT_TIME] = {"time", true, "events whose ts is no number",
                       "viewers drop them"},
    [FD_FAULT_NEGATIVE] = {"negative", true, "events before time 0",
                           "Perfetto drops them: shift the file with "
                           "`timeline merge --align start`"},
    [FD_FAULT_DURATION] = {"duration", true,
                           "slices whose dur is no number from 0 on",
                           "Perfetto drops them"},
    [FD_FAULT_END] = {"end", true,
                      "ends of slices that have not begun, or of another "
                      "name",
                      "viewers leave the slice open that they should end"},
    [FD_FAULT_BEGIN] = {"begin", true, "begun slices that never end",
                        "viewers draw them to the end of the trace"},
    [FD_FAULT_OVERLAP] = {"overlap", true,
                          "slices that overlap on a thread, neither within "
                          "the other",
                          "Perfetto drops them: put them on threads of their "
                          "own"},
    [FD_FAULT_ID] = {"id", true, "flow or asynchronous events without an id",
                     "nothing joins them"},
    [FD_FAULT_FLOW_START] = {"flow-start", true,
                             "flow steps and ends without a start before",
                             "viewers draw no arrow"},
    [FD_FAULT_FLOW_END] = {"flow-end", true, "flow starts without an end",
                           "viewers draw no arrow"},
    [FD_FAULT_FLOW_SLICE] = {"flow-slice", true,
                             "flow events outside of all slices",
                             "viewers draw no arrow, or a wrong one"},
    [FD_FAULT_ASYNC_END] = {"async-end", true,
                            "asynchronous ends without a begin",
                            "viewers drop them"},
    [FD_FAULT_ASYNC_BEGIN] = {"async-begin", true,
                              "asynchronous begins without an end",
                              "viewers draw them to the end of the trace"},
    [FD_FAULT_COUNTER] = {"counter", true, "counters without a number",
                          "Perfetto drops them"},
    [FD_FAULT_METADATA] = {"metadata", true,
                           "rows of metadata without what they should say",
                           "viewers skip them"},
    [FD_FAULT_NO_NAME] = {"unnamed-process", false,
                          "processes without a process_name",
                          "viewers show their pid"},
    [FD_FAULT_TWO_NAMES] = {"renamed-process", true,
                            "processes that are given two names",
                            "viewers show the last one"},
    [FD_FAULT_SAME_NAME] = {"same-name", false,
                            "processes with the name of another one",
                            "viewers show both, told apart by pid"},
    [FD_FAULT_STEPS] = {"steps", true,
                        "steps of a process that come after a later one",
                        "numbers should grow with time"},
    [FD_FAULT_RANKS] = {"ranks", true,
                        "rows of `ranks` that do not fit: twice there, or no "
                        "process of that rank, or a process without a row",
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
