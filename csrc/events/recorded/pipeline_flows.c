#include "events/recorded/pipeline_flows.h"

#include "events/recorded/slice_names.h"
#include "pipeline/recorded/pipeline_match.h"
#include "pipeline/recorded/recorded_jobs.h"
#include "trace/trace.h"
#include "json/json_scan.h"

#include <stdlib.h>
#include <string.h>

bool
fd_transfers_any(const fd_trace *trace, const fd_trace_rank *rank)
{
    for (uint32_t i = 0; i < rank->jobs.count; i++) {
        uint8_t kind =
            fd_pipe_kind_named(fd_trace_text(trace, rank->jobs.list[i].kind));
        if (kind == FD_PIPE_SEND || kind == FD_PIPE_RECEIVE
            || (kind < FD_JOB_KINDS
                && fd_job_is_transfer((fd_job_kind)kind))) {
            return true;
        }
    }
    return false;
}

static int32_t
rank_coordinate(const char *json, const char *name)
{
    fd_span value;
    fd_span all = {json, json + strlen(json)};
    if (!fd_scan_find(all, name, &value)) {
        return -1;
    }
    long number = strtol(value.from, NULL, 10);
    return number < 0 || number > INT16_MAX ? -1 : (int32_t)number;
}

static fd_pipe_known
known_of(const fd_trace *trace, const fd_trace_rank *rank,
         const fd_clock_map *clock)
{
    const char *json = fd_rank_fact(trace, rank, "coordinates");
    json = json != NULL && json[0] == '{' ? json : "{}";
    return (fd_pipe_known){.position = rank_coordinate(json, "pipe"),
                           .data = rank_coordinate(json, "data"),
                           .model = rank_coordinate(json, "model"),
                           .clock = *clock};
}

static bool
window_holds(const fd_transfers_window *window, uint64_t time)
{
    return (int64_t)time >= window->begin && (int64_t)time < window->end;
}

static void
add_slices(fd_transfers_slice *slices, const fd_trace_rank *rank,
           const fd_transfers_window *window)
{
    for (uint32_t i = 0; i < rank->events.count; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        if (event->kind == FD_EVENT_JOB) {
            uint64_t arrival = fd_transfer_arrival(event);
            slices[event->context] = (fd_transfers_slice){
                window_holds(window, event->start),
                fd_clock_apply(&window->clock, (int64_t)event->start),
                window_holds(window, arrival),
                fd_clock_apply(&window->clock, (int64_t)arrival)};
        }
    }
}

fd_status
fd_transfers_add(fd_transfers_search *search, const fd_trace *trace,
                 const fd_trace_rank *rank, const fd_transfers_window *window)
{
    uint32_t first = search->slices.count;
    fd_pipe_known known = known_of(trace, rank, &window->clock);
    fd_status status = fd_vector_push(&search->ranks, rank->rank);
    fd_then(status, fd_vector_push(&search->first, first));
    if (status == FD_OK && rank->jobs.count > 0) {
        status = fd_vector_push(&search->added, search->ranks.count - 1);
    }
    for (uint32_t i = 0; i < rank->jobs.count && status == FD_OK; i++) {
        status = fd_vector_push(&search->slices,
                                (fd_transfers_slice){.shown = false});
    }
    if (status != FD_OK) {
        return status;
    }
    if (rank->jobs.count > 0) {
        add_slices(&search->slices.list[first], rank, window);
    }
    return fd_pipe_read_rank(&search->pipeline, trace, rank, &known);
}

/* Find, for each send, the last job that received its message, plus 1: a
 * message received in two jobs arrives at the end of the later one. */
static void
find_takers(const fd_pipe *p, uint32_t *takers)
{
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        if (fd_pipe_moves(job) && !fd_pipe_sends(job)
            && job->other != FD_NO_PIPE_JOB) {
            uint32_t *taker = &takers[job->other];
            if (*taker == 0 || p->jobs.list[*taker - 1].end <= job->end) {
                *taker = i + 1;
            }
        }
    }
}

static void
add_transfer(fd_transfers *made, const fd_transfers_search *search,
             const fd_pipe_job *send, const fd_pipe_job *receive)
{
    uint32_t from = search->added.list[send->at];
    uint32_t out = search->first.list[from] + send->row;
    uint32_t in =
        search->first.list[search->added.list[receive->at]] + receive->row;
    const fd_transfers_slice *sent = &search->slices.list[out];
    const fd_transfers_slice *came = &search->slices.list[in];
    if (sent->shown && came->arrives && sent->start < came->arrival) {
        uint64_t id = fd_transfer_id(search->ranks.list[from], send->row);
        made->ends[out] = (fd_arrow_end){id, false};
        made->ends[in] = (fd_arrow_end){id, true};
    }
}

static fd_status
tie_all(fd_transfers *made, fd_transfers_search *search)
{
    fd_pipe *p = &search->pipeline;
    fd_pipe_matches matches = {.matched = 0};
    uint32_t *takers = fd_calloc((size_t)p->jobs.count + 1, sizeof *takers);
    fd_status status =
        takers == NULL ? FD_ENOMEM : fd_pipeline_match(&matches, p);
    if (status == FD_OK) {
        find_takers(p, takers);
        for (uint32_t i = 0; i < p->jobs.count; i++) {
            if (takers[i] != 0) {
                add_transfer(made, search, &p->jobs.list[i],
                             &p->jobs.list[takers[i] - 1]);
            }
        }
    }
    fd_pipe_matches_clear(&matches);
    fd_free(takers);
    return status;
}

fd_status
fd_transfers_find(fd_transfers *transfers, fd_transfers_search *search)
{
    uint32_t ranks = search->first.count;
    uint32_t jobs = search->slices.count;
    fd_transfers made = {
        .ends = fd_calloc((size_t)jobs + 1, sizeof *made.ends),
        .first = fd_calloc((size_t)ranks + 1, sizeof *made.first)};
    fd_status status =
        made.ends == NULL || made.first == NULL ? FD_ENOMEM : FD_OK;
    fd_pipeline_settle(&search->pipeline);
    for (uint32_t i = 0; i <= ranks && status == FD_OK; i++) {
        made.first[i] = i < ranks ? search->first.list[i] : jobs;
    }
    fd_then(status, tie_all(&made, search));
    if (status != FD_OK) {
        fd_transfers_clear(&made);
    }
    *transfers = made;
    return status;
}

void
fd_transfers_search_clear(fd_transfers_search *search)
{
    fd_pipe_clear(&search->pipeline);
    fd_vector_clear(&search->ranks);
    fd_vector_clear(&search->first);
    fd_vector_clear(&search->added);
    fd_vector_clear(&search->slices);
}

static bool
any_moves(const fd_trace *trace)
{
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        if (fd_transfers_any(trace, &trace->ranks.list[i])) {
            return true;
        }
    }
    return false;
}

fd_status
fd_transfers_make(fd_transfers *transfers, const fd_trace *trace,
                  const fd_export_options *options)
{
    fd_transfers_search search = {.pipeline = {.lines = 0}};
    fd_status status = FD_OK;
    *transfers = (fd_transfers){.ends = NULL};
    if (options->transfers != NULL) {
        *transfers = *options->transfers;
        transfers->lent = true;
        return FD_OK;
    }
    if (options->no_flows || !any_moves(trace)) {
        return FD_OK;
    }
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        bool written =
            options->rank == FD_ALL_RANKS || options->rank == (int)i;
        fd_transfers_window window = {
            .clock = fd_export_clock_of(trace, options, i),
            .begin = INT64_MIN,
            .end = written ? INT64_MAX : INT64_MIN};
        status =
            fd_transfers_add(&search, trace, &trace->ranks.list[i], &window);
    }
    fd_then(status, fd_transfers_find(transfers, &search));
    fd_transfers_search_clear(&search);
    return status;
}

void
fd_transfers_clear(fd_transfers *transfers)
{
    if (!transfers->lent) {
        fd_free(transfers->ends);
        fd_free(transfers->first);
    }
    *transfers = (fd_transfers){.ends = NULL};
}
