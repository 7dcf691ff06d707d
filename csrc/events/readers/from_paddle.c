#include "events/readers/from_paddle.h"

#include "base/budget.h"
#include "events/readers/paddle_line.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thread ids within the process of a device. */
enum { STEPS = 1, JOBS = 2, MOST_NAME = 64 };

/* The state of the reader. It reads the file twice, because members before the
 * events depend on all jobs. */
typedef struct paddle {
    fd_bytes_in log;         /* owned: content of the file */
    char machine[MOST_NAME]; /* name of the folder if it names a machine;
                              * otherwise "" */
    uint32_t device;
    uint64_t line;
    /* Results of the first pass. */
    uint64_t jobs;
    int64_t base_ns; /* the earliest start of a job */
    bool has_first_step;
    uint64_t first_step;
    char start[MOST_NAME + 1]; /* the first job type of each step; or "" */
    /* State of the second pass. */
    bool begun;
    bool ended;
    uint64_t bad; /* malformed lines */
    uint64_t first_bad;
    uint64_t steps; /* number of steps begun so far */
    int64_t step_start;
    int64_t step_end;
} paddle;

static void
release_log(void *context)
{
    paddle *p = context;
    fd_bytes_in_close(&p->log);
    fd_free(p);
}

/* Read the next line. A line of more than 16 MB is read in parts. */
static bool
next_line(paddle *p, fd_span *line)
{
    fd_bytes_in *in = &p->log;
    const char *end;
    while ((end = in->at < in->end
                    ? memchr(in->at, '\n', (size_t)(in->end - in->at))
                    : NULL)
               == NULL
           && fd_bytes_in_more(in)) {
    }
    *line = (fd_span){in->at, end != NULL ? end : in->end};
    bool any = line->to > line->from || end != NULL;
    in->at = end != NULL ? end + 1 : in->end;
    p->line++;
    return any;
}

static void
note_job(paddle *p, const fd_paddle_job *job)
{
    bool starts = p->start[0] == '\0' && !fd_span_is(job->type, "default");
    if (starts) {
        memcpy(p->start, job->type.from, fd_span_size(job->type));
    }
    p->base_ns = p->jobs == 0 || job->start_ns < p->base_ns ? job->start_ns
                                                            : p->base_ns;
    p->jobs++;
}

/* Make the first pass. */
static fd_status
look_at_log(paddle *p, fd_error *error)
{
    fd_span line;
    fd_paddle_job job;
    fd_paddle_found found;
    uint64_t step;
    while (next_line(p, &line)) {
        while ((found = fd_paddle_line_next(&line, &job, &step))
               != FD_PADDLE_NOTHING) {
            if (found == FD_PADDLE_JOB) {
                note_job(p, &job);
            }
            else if (found == FD_PADDLE_FIRST_STEP && !p->has_first_step) {
                p->has_first_step = true;
                p->first_step = step;
            }
            p->bad += found == FD_PADDLE_BAD;
        }
    }
    if (p->log.status != FD_OK || p->jobs > 0) {
        return p->log.status;
    }
    return p->bad > 0
             ? fd_fail(error, FD_EFORMAT,
                       "none of the %llu lines of the profiler is complete",
                       (unsigned long long)p->bad)
             : fd_fail(error, FD_EFORMAT,
                       "no line \"Profiler Info: Job\" in it");
}

static void
put_row(const paddle *p, const char *what, int thread, fd_span args,
        fd_event_batch *batch)
{
    fd_timeline_event row = {.phase = 'M',
                             .name = fd_batch_static(what),
                             .pid = fd_batch_number(batch, p->device),
                             .tid = fd_batch_number(batch, (uint64_t)thread),
                             .args = args};
    fd_batch_event(batch, &row);
}

static void
put_head(const paddle *p, fd_event_batch *batch)
{
    fd_batch_member(batch, "displayTimeUnit", fd_batch_static("\"ns\""));
    fd_batch_member(batch, "baseTimeNanoseconds",
                    fd_batch_format(batch, "%" PRId64, p->base_ns));
    if (p->machine[0] != '\0') {
        fd_batch_member(batch, "host_name",
                        fd_batch_json(batch, p->machine, strlen(p->machine)));
    }
    fd_json_writer w = {.to = fd_batch_compose(batch)};
    fd_json_begin_object(&w, NULL);
    fd_json_put_u64(&w, "device", p->device);
    fd_json_put_u64(&w, "jobs", p->jobs);
    fd_json_put_u64(&w, "first_step", p->first_step);
    fd_json_end_object(&w);
    fd_batch_member(batch, "paddle", fd_batch_composed(batch));
    char name[16];
    int size = snprintf(name, sizeof name, "GPU %u", (unsigned)p->device);
    put_row(p, "\"process_name\"", 0,
            fd_batch_text_object(batch, "name", name, (size_t)size), batch);
    put_row(p, "\"thread_name\"", STEPS,
            fd_batch_static("{\"name\":\"Steps\"}"), batch);
    put_row(p, "\"thread_name\"", JOBS, fd_batch_static("{\"name\":\"Jobs\"}"),
            batch);
}

static fd_timeline_event
make_slice(const paddle *p, int thread, int64_t start, int64_t end,
           fd_event_batch *batch)
{
    return (fd_timeline_event){.phase = 'X',
                               .pid = fd_batch_number(batch, p->device),
                               .tid = fd_batch_number(batch, (uint64_t)thread),
                               .has_start = true,
                               .start = start - p->base_ns,
                               .has_duration = true,
                               .duration = end - start};
}

static void
end_step(paddle *p, fd_event_batch *batch)
{
    if (p->steps > 0) {
        uint64_t step = p->first_step + p->steps - 1;
        fd_timeline_event event =
            make_slice(p, STEPS, p->step_start, p->step_end, batch);
        event.cat = fd_batch_static("\"step\"");
        event.name = fd_batch_format(batch, "\"step %" PRIu64 "\"", step);
        event.args = fd_batch_number_object(batch, "step", step);
        fd_batch_event(batch, &event);
    }
}

static void
put_job(paddle *p, const fd_paddle_job *job, fd_event_batch *batch)
{
    if (job->micro_batch == 0 && fd_span_is(job->type, p->start)) {
        end_step(p, batch);
        p->steps++;
        p->step_start = job->start_ns;
        p->step_end = job->end_ns;
    }
    p->step_end = job->end_ns > p->step_end ? job->end_ns : p->step_end;
    int size = (int)fd_span_size(job->type);
    fd_timeline_event event =
        make_slice(p, JOBS, job->start_ns, job->end_ns, batch);
    event.cat = fd_batch_format(batch, "\"%.*s\"", size, job->type.from);
    event.name = fd_batch_format(batch, "\"%.*s_%" PRIu64 "\"", size,
                                 job->type.from, job->number);
    fd_json_writer w = {.to = fd_batch_compose(batch)};
    fd_json_begin_object(&w, NULL);
    fd_json_put_u64(&w, "job", job->number);
    fd_json_put_u64(&w, "micro_batch", job->micro_batch);
    if (p->steps > 0) {
        fd_json_put_u64(&w, "step", p->first_step + p->steps - 1);
    }
    fd_json_end_object(&w);
    event.args = fd_batch_composed(batch);
    fd_batch_event(batch, &event);
}

static fd_status
finish_log(const paddle *p, fd_timeline_maker *maker, fd_error *error)
{
    maker->read = p->log.size;
    maker->lost = p->bad + (p->log.trouble != NULL);
    if (maker->lost == 0) {
        return FD_OK;
    }
    return p->log.trouble != NULL
             ? fd_fail(error, FD_EFORMAT, "%s", p->log.trouble)
             : fd_fail(error, FD_EFORMAT,
                       "%" PRIu64 " invalid job%s, the first in line %" PRIu64,
                       p->bad, p->bad == 1 ? "" : "s", p->first_bad);
}

static void
take_line(paddle *p, fd_span line, fd_event_batch *batch)
{
    fd_paddle_job job;
    fd_paddle_found found;
    uint64_t step;
    while ((found = fd_paddle_line_next(&line, &job, &step))
           != FD_PADDLE_NOTHING) {
        if (found == FD_PADDLE_JOB) {
            put_job(p, &job, batch);
        }
        if (found == FD_PADDLE_BAD && p->bad++ == 0) {
            p->first_bad = p->line;
        }
    }
}

static fd_status
fill_batch(fd_timeline_maker *maker, fd_event_batch *batch, fd_error *error)
{
    paddle *p = maker->context;
    uint32_t enough = (uint32_t)fd_budget(FD_BATCH_EVENTS);
    fd_span line;
    if (p->ended) {
        return finish_log(p, maker, error);
    }
    if (!p->begun) {
        put_head(p, batch);
        p->begun = true;
    }
    while (batch->items.count < enough && batch->status == FD_OK
           && next_line(p, &line)) {
        take_line(p, line, batch);
    }
    maker->read = p->log.read;
    if (batch->items.count < enough) {
        end_step(p, batch);
        p->ended = true;
    }
    return p->log.status == FD_OK && p->ended && batch->items.count == 0
             ? finish_log(p, maker, error)
             : p->log.status;
}

/* Set machine and rank from the path: "machine1" and 3 for
 * machine1/workerlog.3. */
static void
take_names(paddle *p, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder_end = slash != NULL ? slash : path;
    const char *folder = folder_end;
    while (folder > path && folder[-1] != '/') {
        folder--;
    }
    size_t size = (size_t)(folder_end - folder);
    if (size < MOST_NAME && strncmp(folder, "machine", 7) == 0) {
        memcpy(p->machine, folder, size);
    }
    const char *dot = strstr(slash != NULL ? slash : path, "workerlog.");
    unsigned long device = dot != NULL ? strtoul(dot + 10, NULL, 10) : 0;
    p->device = device < UINT32_MAX ? (uint32_t)device : 0;
}

bool
fd_timeline_is_paddle(const char *path, const char *head, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, "workerlog.", 10) == 0
        || (size > 0 && *head != '{' && *head != '['
            && memmem(head, size, "Profiler Info: Job (", 20) != NULL);
}

fd_status
fd_timeline_from_paddle(fd_timeline_maker *maker, fd_bytes_in *in,
                        const char *path, fd_error *error)
{
    paddle *p = fd_calloc(1, sizeof *p);
    if (p == NULL) {
        return FD_ENOMEM;
    }
    take_names(p, path);
    p->log = *in;
    *in = (fd_bytes_in){.fd = -1};
    fd_status status = look_at_log(p, error);
    fd_bytes_in_close(&p->log);
    fd_then(status, fd_bytes_in_open(&p->log, path, error));
    if (status != FD_OK) {
        release_log(p);
        return status;
    }
    p->line = p->bad = 0;
    maker->context = p;
    maker->fill = fill_batch;
    maker->release = release_log;
    return FD_OK;
}
