#include "export/transfers.h"

#include "analysis/pipeline_match.h"
#include "analysis/pipeline_read.h"
#include "export/slice_names.h"
#include "io/json_scan.h"

#include <stdlib.h>
#include <string.h>

/* While they are made. */
typedef struct making {
    fd_transfers *made;
    const fd_trace *trace;
    const fd_export_options *options;
    fd_pipe pipeline;
    fd_pipe_matches matches;
    const fd_trace_event **events; /* owned; by job as `made->ends`; NULL: not
                                      written */
    uint32_t *takers; /* owned; by job of the pipeline, of a send the job that
                         received it last, plus 1 */
} making;

static bool
any_moves(const fd_trace *trace)
{
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        const fd_trace_rank *rank = &trace->ranks.list[i];
        for (uint32_t j = 0; j < rank->jobs.count; j++) {
            uint8_t kind = fd_pipe_kind_named(
                fd_trace_text(trace, rank->jobs.list[j].kind));
            if (kind == FD_PIPE_SEND || kind == FD_PIPE_RECEIVE
                || (kind < FD_JOB_KINDS
                    && fd_job_is_transfer((fd_job_kind)kind))) {
                return true;
            }
        }
    }
    return false;
}

static int32_t
coordinate(const char *json, const char *name)
{
    fd_span value;
    fd_span all = {json, json + strlen(json)};
    if (!fd_scan_find(all, name, &value)) {
        return -1;
    }
    long number = strtol(value.from, NULL, 10);
    return number < 0 || number > INT16_MAX ? -1 : (int32_t)number;
}

/* Times are compared only later. */
static fd_pipe_known
known_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    const char *json = fd_rank_fact(trace, rank, "coordinates");
    json = json != NULL && json[0] == '{' ? json : "{}";
    return (fd_pipe_known){.place = coordinate(json, "pipe"),
                           .data = coordinate(json, "data"),
                           .model = coordinate(json, "model")};
}

static fd_status
read_pipeline(making *m)
{
    uint32_t count = m->trace->ranks.count;
    fd_pipe_known *known = fd_malloc(count * sizeof *known);
    if (known == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        known[i] = known_of(m->trace, &m->trace->ranks.list[i]);
    }
    fd_status status = fd_pipe_read(&m->pipeline, m->trace, known);
    fd_free(known);
    return status == FD_OK ? fd_pipeline_match(&m->matches, &m->pipeline)
                           : status;
}

static fd_status
make_room(making *m)
{
    uint32_t jobs = 0;
    uint32_t count = m->trace->ranks.count;
    m->made->first = fd_malloc(count * sizeof *m->made->first);
    for (uint32_t i = 0; i < count && m->made->first != NULL; i++) {
        m->made->first[i] = jobs;
        jobs += m->trace->ranks.list[i].jobs.count;
    }
    m->made->ends = fd_calloc((size_t)jobs + 1, sizeof *m->made->ends);
    m->events = fd_calloc((size_t)jobs + 1, sizeof *m->events);
    m->takers = fd_calloc((size_t)jobs + 1, sizeof *m->takers);
    return m->made->first != NULL && m->made->ends != NULL
                   && m->events != NULL && m->takers != NULL
               ? FD_OK
               : FD_ENOMEM;
}

static void
find_events(making *m)
{
    for (uint32_t i = 0; i < m->trace->ranks.count; i++) {
        const fd_trace_rank *rank = &m->trace->ranks.list[i];
        bool written = m->options->rank == FD_ALL_RANKS
                       || m->options->rank == (int)i;
        for (uint32_t j = 0; j < rank->events.count && written; j++) {
            const fd_trace_event *event = &rank->events.list[j];
            if (event->kind == FD_EVENT_JOB) {
                m->events[m->made->first[i] + event->context] = event;
            }
        }
    }
}

/* What is received in two jobs has come when the later one ends. */
static void
find_takers(making *m)
{
    const fd_pipe *p = &m->pipeline;
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        if (fd_pipe_moves(job) && !fd_pipe_sends(job)
            && job->other != FD_NO_PIPE_JOB) {
            uint32_t *taker = &m->takers[job->other];
            if (*taker == 0 || p->jobs.list[*taker - 1].end <= job->end) {
                *taker = i + 1;
            }
        }
    }
}

static int64_t
shown(const making *m, uint32_t rank, uint64_t time)
{
    const fd_trace *trace = m->trace;
    if (m->options->clocks != NULL) {
        return fd_clock_apply(&m->options->clocks[rank].map, (int64_t)time);
    }
    return (int64_t)time + fd_rank_offset(trace, &trace->ranks.list[rank]);
}

/* The rank of the trace that a rank of the pipeline is: those without jobs are
 * not among the latter. By place: a damaged trace may number two alike. */
static uint32_t
rank_of(const making *m, uint32_t at)
{
    uint32_t rank = 0;
    for (uint32_t before = 0;; rank++) {
        if (m->trace->ranks.list[rank].jobs.count > 0 && before++ == at) {
            return rank;
        }
    }
}

static void
tie(making *m, const fd_pipe_job *send, const fd_pipe_job *receive)
{
    uint32_t from = rank_of(m, send->at);
    uint32_t to = rank_of(m, receive->at);
    uint32_t out = m->made->first[from] + send->row;
    uint32_t in = m->made->first[to] + receive->row;
    if (m->events[out] != NULL && m->events[in] != NULL
        && shown(m, from, m->events[out]->start)
               < shown(m, to, fd_transfer_arrival(m->events[in]))) {
        uint64_t id = fd_transfer_id(m->trace->ranks.list[from].rank,
                                     send->row);
        m->made->ends[out] = (fd_arrow_end){id, false};
        m->made->ends[in] = (fd_arrow_end){id, true};
    }
}

fd_status
fd_transfers_make(fd_transfers *transfers, const fd_trace *trace,
                  const fd_export_options *options)
{
    making m = {.made = transfers, .trace = trace, .options = options};
    *transfers = (fd_transfers){.ends = NULL};
    if (options->no_flows || !any_moves(trace)) {
        return FD_OK;
    }
    fd_status status = make_room(&m);
    status = status == FD_OK ? read_pipeline(&m) : status;
    if (status == FD_OK) {
        find_events(&m);
        find_takers(&m);
        for (uint32_t i = 0; i < m.pipeline.jobs.count; i++) {
            if (m.takers[i] != 0) {
                tie(&m, &m.pipeline.jobs.list[i],
                    &m.pipeline.jobs.list[m.takers[i] - 1]);
            }
        }
    }
    if (status != FD_OK) {
        fd_transfers_clear(transfers);
    }
    fd_pipe_matches_clear(&m.matches);
    fd_pipe_clear(&m.pipeline);
    fd_free(m.events);
    fd_free(m.takers);
    return status;
}

void
fd_transfers_clear(fd_transfers *transfers)
{
    fd_free(transfers->ends);
    fd_free(transfers->first);
    *transfers = (fd_transfers){.ends = NULL};
}
