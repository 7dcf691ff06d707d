#include "trace/dump/dump_reading.h"

#include "recording/wait_kinds.h"
#include "trace/step_window.h"
#include "json/json_text.h"

#include <string.h>

/* The members of a rank. */
enum {
    RANK,
    WORLD,
    PID,
    COMPLETE,
    TIMING,
    STEPS,
    RECORDED,
    FILE_BYTES,
    RUN_STEPS,
    SEEN_ALIVE,
    OTHERS_RAN,
    ID,
    BOOT_ID,
    STATE,
    STEPS_SOURCE,
    START,
    COUNTERS,
    META,
    NOTES,
    FIGURES,
    THREADS,
    OPEN,
    LATEST,
    TOPS,
    GPU,
    MEASURES,
    MARKS,
    SETTLED_FROM,
    SETTLED_TO,
    REDUCED,
    SPREADS,
    LIVE,
    MEMBERS
};

static const char *const MEMBER_NAMES[MEMBERS] = {
    "rank",       "world",    "pid",          "complete",   "timing",
    "steps",      "recorded", "file_bytes",   "run_steps",  "seen_alive",
    "others_ran", "id",       "boot_id",      "state",      "steps_source",
    "start",      "counters", "meta",         "notes",      "figures",
    "threads",    "open",     "latest_steps", "step_tops",  "gpu",
    "measures",   "marks",    "settled_from", "settled_to", "reduced",
    "spreads",    "live"};

typedef struct context_map {
    const fd_loading *l;
    bool wrong;
} context_map;

/* Replace the context id of the document by that of the trace. */
static void
map_context(uint32_t *id, void *map)
{
    context_map *m = map;
    m->wrong = m->wrong || *id >= m->l->context_count;
    *id = m->wrong ? 0 : m->l->contexts[*id];
}

static fd_status
map_contexts(const fd_loading *l, const fd_table *table,
             const fd_rank_list *rows)
{
    context_map map = {.l = l};
    const char *row = rows->list;
    fd_table_visit(table, rows->list, rows->count, FD_COLUMN_CONTEXT,
                   map_context, &map);
    for (uint32_t i = 0; fd_table_is_keyed(table) && i < rows->count; i++) {
        map.wrong = map.wrong || *(const uint32_t *)(const void *)row == 0;
        row += table->row_bytes;
    }
    return map.wrong ? fd_loading_wrong(l, table->name, "no such context")
                     : FD_OK;
}

/* Read a table of the rank from the member of its name. `needed`: it must be
 * there. */
static fd_status
load_rank_table(const fd_loading *l, const fd_span *of, int member,
                const fd_table *table, fd_trace_rank *rank, bool needed)
{
    fd_rank_list rows;
    if (of[member].from == NULL && !needed) {
        return FD_OK;
    }
    fd_status status = fd_loading_table(l, of[member], table, &rows);
    fd_then(status, map_contexts(l, table, &rows));
    if (status != FD_OK) {
        fd_free(rows.list);
        return status;
    }
    *fd_rank_rows_of(rank, table) = rows;
    return FD_OK;
}

/* Read a sum of ranks. */
static fd_status
load_reduced(const fd_loading *l, const fd_span *of, fd_trace_rank *rank)
{
    static const char *const names[] = {"ranks", "whole", "settled"};
    fd_span values[3];
    uint64_t ranks = 0;
    fd_scan_members(of[REDUCED], names, 3, values);
    fd_status status =
        fd_loading_number(l, values[0], names[0], UINT32_MAX, &ranks);
    fd_then(status, fd_loading_number(l, values[1], names[1], UINT64_MAX,
                                      &rank->whole));
    if (status != FD_OK) {
        return status;
    }
    rank->reduced = (uint32_t)ranks;
    rank->window.applied = fd_span_is(values[2], "true");
    return load_rank_table(l, of, SPREADS, &fd_spreads_table, rank, true);
}

/* Read what is known of the threads of a recording that had not ended. */
static fd_status
load_live(const fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    fd_rank_list from;
    fd_status status = fd_loading_table(l, json, &fd_live_table, &from);
    const fd_trace_thread *rows = from.list;
    if (status == FD_OK && from.count != rank->threads.count) {
        status = fd_loading_wrong(l, "live", "one row per thread expected");
    }
    for (uint32_t i = 0; status == FD_OK && i < from.count; i++) {
        fd_trace_thread *thread = &rank->threads.list[i];
        thread->last = rows[i].last;
        thread->still = rows[i].still;
        thread->waits =
            rows[i].waits < FD_WAIT_KINDS ? rows[i].waits : FD_WAIT_UNKNOWN;
    }
    fd_free(from.list);
    return status;
}

static fd_status
load_rank_tables(const fd_loading *l, const fd_span *of, fd_trace_rank *rank)
{
    bool marked = of[MARKS].from != NULL;
    const struct {
        const fd_table *table;
        int member;
        bool needed;
    } tables[] = {
        {&fd_figures_table, FIGURES, true},
        {&fd_threads_table, THREADS, true},
        {&fd_open_table, OPEN, true},
        {&fd_steps_table, LATEST, true},
        {&fd_tops_table, TOPS, true},
        {&fd_gpu_table, GPU, false},
        {&fd_measures_table, MEASURES, false},
        {&fd_marks_table, MARKS, false},
        {&fd_settled_from_table, SETTLED_FROM, marked},
        {&fd_settled_to_table, SETTLED_TO, marked},
    };
    fd_status status = FD_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        fd_then(status,
                load_rank_table(l, of, tables[i].member, tables[i].table, rank,
                                tables[i].needed));
    }
    if (status == FD_OK && of[LIVE].from != NULL) {
        status = load_live(l, of[LIVE], rank);
    }
    if (status == FD_OK && marked) {
        fd_steps_choose(rank, NULL);
    }
    for (uint32_t i = 0; i < rank->open.count && status == FD_OK; i++) {
        if (rank->open.list[i].thread >= rank->threads.count) {
            return fd_loading_wrong(l, "open.thread", "no such thread");
        }
    }
    return status;
}

static fd_status
load_name(fd_loading *l, fd_span json, const char *field,
          const char *const *names, uint32_t *value)
{
    fd_status status = fd_loading_text(l, json);
    for (*value = 0; status == FD_OK && names[*value] != NULL; ++*value) {
        if (strcmp(names[*value], l->text.bytes) == 0) {
            return FD_OK;
        }
    }
    return status == FD_ENOMEM ? status
                               : fd_loading_wrong(l, field, "unknown name");
}

static fd_status
load_hexadecimal(fd_loading *l, fd_span json, const char *field, char to[33])
{
    fd_status status = fd_loading_text(l, json);
    if (status == FD_ENOMEM) {
        return status;
    }
    if (status != FD_OK || l->text.size != 32
        || strspn(l->text.bytes, "0123456789abcdef") != 32) {
        return fd_loading_wrong(l, field, "32 hexadecimal digits expected");
    }
    memcpy(to, l->text.bytes, 33);
    return FD_OK;
}

static fd_status
load_start(const fd_loading *l, fd_span json, fd_file_anchor *start)
{
    static const char *const names[] = {"ticks", "monotonic", "boottime",
                                        "realtime"};
    uint64_t *const to[] = {&start->ticks, &start->monotonic_ns,
                            &start->boottime_ns, &start->realtime_ns};
    fd_span values[4];
    fd_status status = FD_OK;
    fd_scan_members(json, names, 4, values);
    for (int i = 0; i < 4 && status == FD_OK; i++) {
        status = fd_loading_number(l, values[i], names[i], UINT64_MAX, to[i]);
    }
    return status;
}

static fd_status
load_scalars(const fd_loading *l, const fd_span *of, fd_trace_rank *rank)
{
    uint32_t *const narrow[] = {&rank->rank, &rank->world, &rank->pid};
    uint64_t *const wide[] = {&rank->steps,      &rank->recorded,
                              &rank->file_bytes, &rank->run_steps,
                              &rank->seen_alive, &rank->others_ran};
    fd_status status = FD_OK;
    for (int i = RANK; i <= PID && status == FD_OK; i++) {
        uint64_t value = 0;
        status =
            fd_loading_number(l, of[i], MEMBER_NAMES[i], UINT32_MAX, &value);
        *narrow[i] = (uint32_t)value;
    }
    rank->incomplete = fd_span_is(of[COMPLETE], "false");
    rank->timing = fd_span_is(of[TIMING], "true");
    for (int i = STEPS; i <= OTHERS_RAN && status == FD_OK; i++) {
        if (i <= FILE_BYTES || of[i].from != NULL) {
            status = fd_loading_number(l, of[i], MEMBER_NAMES[i], UINT64_MAX,
                                       wide[i - STEPS]);
        }
    }
    if (rank->run_steps < rank->steps) {
        rank->run_steps = rank->steps;
    }
    return status;
}

static fd_status
load_names(fd_loading *l, const fd_span *of, fd_trace_rank *rank)
{
    fd_status status = load_hexadecimal(l, of[ID], "id", rank->id);
    fd_then(status,
            load_hexadecimal(l, of[BOOT_ID], "boot_id", rank->boot_id));
    fd_then(status,
            load_name(l, of[STATE], "state", fd_state_names, &rank->state));
    return status == FD_OK
             ? load_name(l, of[STEPS_SOURCE], "steps_source",
                         fd_steps_source_names, &rank->steps_source)
             : status;
}

static fd_status
load_counters(const fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    fd_span values[FD_COUNT_USED];
    fd_status status = FD_OK;
    fd_scan_members(json, fd_counter_names, FD_COUNT_USED, values);
    for (int i = 0; i < FD_COUNT_USED && status == FD_OK; i++) {
        if (values[i].from != NULL) {
            status = fd_loading_number(l, values[i], fd_counter_names[i],
                                       UINT64_MAX, &rank->counters[i]);
        }
    }
    return status;
}

/* Add a JSON value as a text of the trace, in canonical spelling. */
static fd_status
add_json(fd_loading *l, fd_span json, uint32_t *id)
{
    fd_buffer spelled = {.bytes = NULL};
    l->text.size = 0;
    fd_buffer_bytes(&l->text, json.from, fd_span_size(json));
    fd_buffer_bytes(&l->text, "", 1);
    if (l->text.status == FD_OK) {
        fd_json_text(&spelled, l->text.bytes);
    }
    fd_status status =
        l->text.status != FD_OK ? l->text.status : spelled.status;
    fd_then(status, fd_text_pool_add_clean(&l->trace->texts, spelled.bytes,
                                           spelled.size, id));
    fd_buffer_clear(&spelled);
    return status;
}

static fd_status
load_meta(fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    fd_scan scan = {.at = json.from, .end = json.to, .forgets = true};
    fd_span name;
    fd_status status = FD_OK;
    bool first = true;
    if (fd_scan_mark(&scan, '{') != FD_SCAN_OK) {
        return FD_OK;
    }
    while (status == FD_OK
           && fd_scan_member(&scan, first, &name) == FD_SCAN_OK) {
        fd_trace_meta made = {0, 0};
        const char *from = scan.at;
        first = false;
        fd_scan_value(&scan);
        status = add_json(l, (fd_span){from, scan.at}, &made.json);
        if (status == FD_OK) {
            status = fd_loading_add_text(
                l, (fd_span){name.from - 1, name.to + 1}, "meta", &made.key);
        }
        fd_then(status, fd_vector_push(&rank->meta, made));
    }
    return status;
}

static fd_status
load_notes(fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    fd_scan scan = {.at = NULL};
    fd_span item;
    fd_status status = FD_OK;
    while (status == FD_OK && fd_loading_next(&scan, json, &item)) {
        uint32_t id = 0;
        status = fd_loading_add_text(l, item, "notes", &id);
        fd_then(status, fd_vector_push(&rank->notes, id));
    }
    return status;
}

fd_status
fd_load_rank(fd_loading *l, fd_span json)
{
    fd_span of[MEMBERS];
    fd_trace_rank *rank = fd_trace_add_rank(l->trace);
    if (rank == NULL) {
        return FD_ENOMEM;
    }
    fd_scan_members(json, MEMBER_NAMES, MEMBERS, of);
    fd_status status = load_scalars(l, of, rank);
    fd_then(status, load_names(l, of, rank));
    fd_then(status, load_start(l, of[START], &rank->start));
    fd_then(status, load_counters(l, of[COUNTERS], rank));
    fd_then(status, load_meta(l, of[META], rank));
    fd_then(status, load_notes(l, of[NOTES], rank));
    fd_then(status, load_rank_tables(l, of, rank));
    return status == FD_OK && of[REDUCED].from != NULL
             ? load_reduced(l, of, rank)
             : status;
}
