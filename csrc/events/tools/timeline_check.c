#include "events/tools/timeline_check.h"

#include "base/budget.h"
#include "base/sums.h"
#include "events/slice_kinds.h"
#include "events/tools/stray_times.h"
#include "trace/interned_texts.h"
#include "json/decimal.h"

#include <string.h>

enum { PROGRESS_STEP = 1 << 24 };

static const char PHASES[] = "XBEiIRCMstfbneSTpFPNODVvc(),=";

/* A process, indexed by the number of its pid in `pids`. */
typedef struct process {
    uint32_t name;   /* in `names`; 0: no name */
    bool has_events; /* except metadata rows */
    fd_fault_position first;
    bool has_step;
    uint64_t step; /* number of the step that began last */
    int64_t step_start;
} process;

/* A row of the table `ranks` that a merge writes. */
typedef struct rank_row {
    uint64_t rank;
    bool there; /* a process of this rank was found */
} rank_row;

typedef struct checking {
    const fd_check_request *request;
    fd_check *check;
    fd_tracks tracks;
    fd_text_pool pids;
    fd_text_pool names;
    FD_VECTOR(process) processes;
    fd_stray_times times;
    FD_VECTOR(rank_row) ranks;
    bool has_ranks;
    bool is_trace;
    uint64_t events; /* in the current pass */
    uint64_t done;   /* bytes of previous passes */
    uint64_t reported;
    fd_error *error;
} checking;

static void
add_fault(checking *c, fd_fault what, fd_fault_position position)
{
    fd_faults_add(&c->check->faults, what, position);
}

/* Return whether an event is `{}`. */
static bool
is_empty(const fd_timeline_event *event)
{
    return event->phase == 0 && event->name.from == NULL
        && event->cat.from == NULL && event->pid.from == NULL
        && event->ts.from == NULL && event->args.from == NULL
        && event->rest.from == NULL;
}

static bool
is_small_number(fd_span value)
{
    uint64_t number;
    return fd_span_u64(value, &number) && number <= UINT32_MAX;
}

static fd_status
find_process(checking *c, fd_span pid, process **found)
{
    static const char zero[] = "0";
    uint32_t id;
    fd_span text =
        pid.from != NULL ? fd_span_inside(pid) : (fd_span){zero, zero + 1};
    *found = NULL;
    if (c->pids.texts.count >= fd_budget(FD_TIMELINE_MOST_PIDS)) {
        c->check->left_out++;
        return FD_OK;
    }
    fd_status status =
        fd_text_pool_add(&c->pids, text.from, fd_span_size(text), &id);
    while (status == FD_OK && c->processes.count <= id) {
        status = fd_vector_push(&c->processes, (process){.name = 0});
    }
    *found = status == FD_OK ? &c->processes.list[id] : NULL;
    return status;
}

static fd_status
name_process(checking *c, const fd_timeline_event *event, process *of,
             fd_fault_position position)
{
    fd_span name;
    uint32_t id;
    if (!fd_timeline_find(event, "name", &name) || *name.from != '"') {
        add_fault(c, FD_FAULT_METADATA, position);
        return FD_OK;
    }
    fd_span text = fd_span_inside(name);
    if (c->names.texts.count >= fd_budget(FD_TIMELINE_MOST_PIDS)) {
        c->check->left_out++;
        return FD_OK;
    }
    fd_status status =
        fd_text_pool_add(&c->names, text.from, fd_span_size(text), &id);
    if (status == FD_OK && of->name != 0 && of->name != id) {
        add_fault(c, FD_FAULT_TWO_NAMES, position);
    }
    of->name = id;
    of->first = of->first.event == 0 ? position : of->first;
    return status;
}

static fd_status
check_row(checking *c, const fd_timeline_event *event, process *of,
          fd_fault_position position)
{
    static const char *const rows[][2] = {
        {"thread_name", "name"},
        {"process_labels", "labels"},
        {"thread_sort_index", "sort_index"},
        {"process_sort_index", "sort_index"}};
    fd_span value;
    fd_span what = fd_timeline_text(event->name);
    if (!fd_timeline_named(event)) {
        return FD_OK;
    }
    if (fd_span_is(what, "process_name") && of != NULL) {
        return name_process(c, event, of, position);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (fd_span_is(what, rows[i][0])
            && !fd_timeline_find(event, rows[i][1], &value)) {
            add_fault(c, FD_FAULT_METADATA, position);
        }
    }
    return FD_OK;
}

/* Check that steps are numbered in time order. */
static void
check_step(checking *c, const fd_timeline_event *event, process *of,
           fd_fault_position position)
{
    uint64_t step;
    if (!fd_timeline_named(event) || of == NULL
        || (fd_timeline_kind(event, &step) & FD_IS_STEP) == 0) {
        return;
    }
    if (of->has_step
        && (step < of->step
                ? event->start > of->step_start
                : step > of->step && event->start < of->step_start)) {
        add_fault(c, FD_FAULT_STEPS, position);
    }
    of->has_step = true;
    of->step = step;
    of->step_start = event->start;
}

/* Return whether there are arguments, all of them numbers. */
static bool
counts_only(fd_span args)
{
    fd_scan scan = {.at = args.from, .end = args.to, .forgets = true};
    fd_span key;
    int64_t number;
    bool first = true;
    if (args.from == NULL || fd_scan_mark(&scan, '{') != FD_SCAN_OK) {
        return false;
    }
    while (fd_scan_member(&scan, first, &key) == FD_SCAN_OK) {
        const char *from = scan.at;
        if (fd_scan_value(&scan) != FD_SCAN_OK || *from == '"'
            || !(fd_decimal_ns((fd_span){from, scan.at}, &number)
                 || (*from >= '0' && *from <= '9') || *from == '-')) {
            return false;
        }
        first = false;
    }
    return !first;
}

/* Check one event by itself. */
static void
check_event(checking *c, const fd_timeline_event *event,
            fd_fault_position position)
{
    char phase = event->phase;
    if (is_empty(event)) {
        add_fault(c, FD_FAULT_EMPTY, position);
        return;
    }
    if (phase == 0 || strchr(PHASES, phase) == NULL) {
        add_fault(c, FD_FAULT_PHASE, position);
        return;
    }
    if (strchr("XBibCMs", phase) != NULL
        && (!fd_timeline_named(event)
            || fd_span_size(fd_span_inside(event->name)) == 0)) {
        add_fault(c, FD_FAULT_NAME, position);
    }
    if (event->pid.from == NULL) {
        add_fault(c, FD_FAULT_PID, position);
    }
    if ((event->pid.from != NULL && !is_small_number(event->pid))
        || (event->tid.from != NULL && !is_small_number(event->tid))) {
        add_fault(c, FD_FAULT_TEXT_ID, position);
    }
    if (phase == 'M') {
        return;
    }
    if (!event->has_start) {
        add_fault(c, FD_FAULT_TIME, position);
    }
    else if (event->start < 0) {
        add_fault(c, FD_FAULT_NEGATIVE, position);
    }
    if (phase == 'X' && (!event->has_duration || event->duration < 0)) {
        add_fault(c, FD_FAULT_DURATION, position);
    }
    if (strchr("stfbneSTpF", phase) != NULL
        && fd_timeline_id(event).from == NULL) {
        add_fault(c, FD_FAULT_ID, position);
    }
    if (phase == 'C' && !counts_only(event->args)) {
        add_fault(c, FD_FAULT_COUNTER, position);
    }
}

static fd_status
first_look(checking *c, const fd_timeline_event *event,
           fd_fault_position position)
{
    process *of;
    check_event(c, event, position);
    if (is_empty(event)) {
        return FD_OK;
    }
    fd_status status = find_process(c, event->pid, &of);
    if (status != FD_OK) {
        return status;
    }
    if (event->phase == 'M') {
        return check_row(c, event, of, position);
    }
    if (of != NULL && !of->has_events) {
        of->has_events = true;
        of->first = position;
    }
    if (event->has_start) {
        int64_t end = event->phase == 'X' && event->has_duration
                        ? fd_plus(event->start, event->duration)
                        : event->start;
        fd_stray_times_add(&c->times, event->start, end, position);
    }
    if (event->phase == 'X' && event->has_start) {
        check_step(c, event, of, position);
    }
    return FD_OK;
}

/* Add a note for each event that is far from all others. */
static void
check_times(checking *c)
{
    fd_stray_times *times = &c->times;
    uint32_t early;
    uint32_t late;
    fd_stray_times_find(times, &early, &late);
    for (uint32_t i = 0; i < times->used; i++) {
        const fd_time_cluster *of = &times->list[i];
        uint64_t known =
            of->count < FD_TIME_POSITIONS ? of->count : FD_TIME_POSITIONS;
        if (i >= early && i + late < times->used) {
            continue;
        }
        for (uint64_t k = 0; k < known; k++) {
            add_fault(c, FD_FAULT_FAR, of->first[k]);
        }
        fd_faults_add_many(&c->check->faults, FD_FAULT_FAR, of->count - known);
    }
}

static fd_status
take_rank(checking *c, fd_span row, fd_fault_position position)
{
    fd_span value;
    uint64_t rank;
    if (!fd_scan_find(row, "rank", &value) || !fd_span_u64(value, &rank)
        || rank >= FD_TIMELINE_RANKS || !fd_scan_find(row, "offset_ns", &value)
        || !fd_scan_find(row, "align", &value) || *value.from != '"') {
        add_fault(c, FD_FAULT_RANKS, position);
        return FD_OK;
    }
    for (uint32_t i = 0; i < c->ranks.count; i++) {
        if (c->ranks.list[i].rank == rank) {
            add_fault(c, FD_FAULT_RANKS, position);
            return FD_OK;
        }
    }
    bool empty = fd_scan_find(row, "events", &value) && fd_span_is(value, "0");
    return fd_vector_push(&c->ranks, (rank_row){rank, empty});
}

/* Read the table that a merge writes: an array of objects with a rank and an
 * offset. */
static fd_status
take_member(checking *c, const fd_timeline_reader *reader)
{
    fd_scan scan = {
        .at = reader->value.from, .end = reader->value.to, .forgets = true};
    fd_span row;
    fd_status status = FD_OK;
    if (!fd_span_is(reader->key, "ranks")
        || fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return FD_OK;
    }
    for (bool first = true;
         status == FD_OK && fd_scan_element(&scan, first, &row) == FD_SCAN_OK
         && *row.from == '{';
         first = false) {
        c->has_ranks = true;
        fd_fault_position position = {
            reader->begin + (uint64_t)(row.from - reader->value.from), 0};
        status = take_rank(c, row, position);
    }
    return status;
}

static fd_status
take_item(checking *c, const fd_timeline_reader *reader, bool is_event)
{
    const fd_timeline_event *event = &reader->event;
    fd_fault_position position = {reader->begin, is_event ? ++c->events : 0};
    if (c->tracks.pass == 0 && c->tracks.passes == 0) {
        for (uint32_t i = 0; i < reader->repairs; i++) {
            bool slash = reader->scan.repairs.list[i].good[0] == '\\'
                      && reader->scan.repairs.list[i].good[1] == '\\';
            add_fault(c, slash ? FD_FAULT_BACKSLASH : FD_FAULT_REPAIR,
                      position);
        }
        if (!is_event) {
            return take_member(c, reader);
        }
    }
    if (!is_event) {
        return FD_OK;
    }
    fd_status status =
        c->tracks.passes == 0 ? first_look(c, event, position) : FD_OK;
    return fd_then(status, fd_tracks_add(&c->tracks, event, position));
}

static fd_status
report_progress(checking *c, const fd_timeline_reader *reader)
{
    const fd_check_request *request = c->request;
    uint64_t passes = c->tracks.passes > 0 ? c->tracks.passes + 1 : 1;
    uint64_t done = c->done + reader->in.read;
    if (request->progress == NULL || done < c->reported) {
        return FD_OK;
    }
    c->reported = done + PROGRESS_STEP;
    return request->progress(request->context, done, passes * reader->in.size)
             ? FD_OK
             : fd_fail(c->error, FD_EINVAL, "stopped");
}

/* Count new damage that the reader found. */
static void
take_damage(checking *c, const fd_timeline_reader *reader)
{
    fd_check *check = c->check;
    fd_faults_add_many(&check->faults, FD_FAULT_DAMAGE, reader->lost);
    check->lost_bytes = reader->lost_bytes;
    check->events = c->events;
    memcpy(check->trouble, reader->trouble, sizeof check->trouble);
    c->is_trace = reader->is_trace;
}

static fd_status
read_once(checking *c, const char *path, bool *done)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    bool first = c->tracks.passes == 0;
    c->events = 0;
    fd_tracks_begin(&c->tracks);
    fd_status status = fd_timeline_reader_open(&reader, path, c->error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        status = take_item(c, &reader, item == FD_TIMELINE_EVENT);
        fd_then(status, report_progress(c, &reader));
    }
    fd_then(status, reader.status);
    if (status == FD_OK && first) {
        take_damage(c, &reader);
    }
    c->done += reader.in.size;
    c->check->passes++;
    fd_timeline_reader_close(&reader);
    return fd_then(status, fd_tracks_end(&c->tracks, &c->check->faults, done));
}

FD_ORDER_BY(by_name, process, name, first.byte)

/* Return whether `ranks` has a row for a process "rank N ...". */
static bool
has_row(checking *c, const process *of)
{
    fd_span name = fd_text_pool_span(&c->names, of->name);
    uint64_t rank;
    if (!fd_span_numbered(name, "rank ", " ", &rank)) {
        return true;
    }
    for (uint32_t i = 0; i < c->ranks.count; i++) {
        if (c->ranks.list[i].rank == rank) {
            c->ranks.list[i].there = true;
            return true;
        }
    }
    return false;
}

static void
check_processes(checking *c)
{
    process *list = c->processes.list;
    uint32_t count = c->processes.count;
    fd_vector_sort(&c->processes, by_name);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].has_events && list[i].name == 0) {
            add_fault(c, FD_FAULT_NO_NAME, list[i].first);
        }
        if (i > 0 && list[i].name != 0 && list[i].name == list[i - 1].name) {
            add_fault(c, FD_FAULT_SAME_NAME, list[i].first);
        }
        if (c->has_ranks && !has_row(c, &list[i])) {
            add_fault(c, FD_FAULT_RANKS, list[i].first);
        }
    }
    for (uint32_t i = 0; i < c->ranks.count; i++) {
        if (!c->ranks.list[i].there) {
            add_fault(c, FD_FAULT_RANKS, (fd_fault_position){0, 0});
        }
    }
}

fd_status
fd_timeline_check_file(const char *path, const fd_check_request *request,
                       fd_check *check, fd_error *error)
{
    checking c = {.request = request,
                  .check = check,
                  .tracks = {.most = request->most_records},
                  .error = error};
    bool done = false;
    *check = (fd_check){.events = 0};
    fd_status status = FD_OK;
    while (status == FD_OK && !done) {
        status = read_once(&c, path, &done);
        if (status == FD_OK && !c.is_trace) {
            status =
                fd_fail(error, FD_EFORMAT, "%s: %s", path,
                        check->trouble[0] != '\0' ? check->trouble
                                                  : "no traceEvents in it");
        }
    }
    if (status == FD_OK) {
        check_times(&c);
        check_processes(&c);
        check->left_out += c.tracks.left_out;
    }
    fd_tracks_clear(&c.tracks);
    fd_text_pool_clear(&c.pids);
    fd_text_pool_clear(&c.names);
    fd_vector_clear(&c.processes);
    fd_vector_clear(&c.ranks);
    return status;
}
