#include "events/readers/from_paddle.h"

#include "base/budget.h"
#include "events/readers/paddle_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JOBS and STEPS are threads of the process. */
enum { PIECE = 1 << 16, STEPS = 1, JOBS = 2, MOST_NAME = 64 };

/* Read twice: what stands before the events is known only after the last. */
typedef struct paddle {
    fd_bytes_in *in;         /* borrowed: the text */
    fd_bytes_in log;         /* owned: the file's bytes */
    char machine[MOST_NAME]; /* the folder, when its name begins so; "" */
    uint32_t device;
    uint64_t line;
    /* from the first reading */
    uint64_t jobs;
    int64_t base_ns; /* the earliest begin */
    bool has_first_step;
    uint64_t first_step;
    char start[MOST_NAME + 1]; /* the type that a step begins with; "" */
    /* of the second */
    bool begun;
    bool ended;
    uint64_t bad; /* lines */
    uint64_t first_bad;
    uint64_t steps; /* begun so far */
    int64_t step_start;
    int64_t step_end;
} paddle;

static void
release(void *context)
{
    paddle *p = context;
    fd_bytes_in_close(&p->log);
    fd_free(p);
}

/* A line of more than 16 MB is taken in parts. */
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

/* The first reading. */
static fd_status
look(paddle *p, fd_error *error)
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
                       "none of its %llu lines of the profiler is whole",
                       (unsigned long long)p->bad)
             : fd_fail(error, FD_EFORMAT,
                       "no line \"Profiler Info: Job\" in it");
}

static void
begin_row(const paddle *p, const char *what, int thread, fd_buffer *to)
{
    fd_buffer_format(to,
                     "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%d,"
                     "\"args\":{\"name\":\"",
                     what, (unsigned)p->device, thread);
}

static void
write_head(const paddle *p, fd_buffer *to)
{
    fd_buffer_format(
        to,
        "{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":%" PRId64 ",\n",
        p->base_ns);
    if (p->machine[0] != '\0') {
        fd_buffer_text(to, "\"host_name\":");
        fd_buffer_json(to, p->machine, strlen(p->machine));
        fd_buffer_text(to, ",\n");
    }
    fd_buffer_format(to,
                     "\"paddle\":{\"device\":%u,\"jobs\":%" PRIu64
                     ",\"first_step\":%" PRIu64 "},\n\"traceEvents\":[\n",
                     (unsigned)p->device, p->jobs, p->first_step);
    begin_row(p, "process_name", 0, to);
    fd_buffer_format(to, "GPU %u\"}},\n", (unsigned)p->device);
    begin_row(p, "thread_name", STEPS, to);
    fd_buffer_text(to, "Steps\"}},\n");
    begin_row(p, "thread_name", JOBS, to);
    fd_buffer_text(to, "Jobs\"}}");
}

/* From a name on; times are whole nanoseconds. */
static void
write_rest(const paddle *p, int thread, int64_t start, int64_t end,
           fd_buffer *to)
{
    int64_t ts = start - p->base_ns;
    int64_t dur = end - start;
    fd_buffer_format(to,
                     "\",\"pid\":%u,\"tid\":%d,\"ts\":%" PRId64 ".%03d,"
                     "\"dur\":%" PRId64 ".%03d",
                     (unsigned)p->device, thread, ts / 1000, (int)(ts % 1000),
                     dur / 1000, (int)(dur % 1000));
}

static void
end_step(paddle *p, fd_buffer *to)
{
    if (p->steps > 0) {
        uint64_t step = p->first_step + p->steps - 1;
        fd_buffer_format(
            to, ",\n{\"ph\":\"X\",\"cat\":\"step\",\"name\":\"step %" PRIu64,
            step);
        write_rest(p, STEPS, p->step_start, p->step_end, to);
        fd_buffer_format(to, ",\"args\":{\"step\":%" PRIu64 "}}", step);
    }
}

static void
write_job(paddle *p, const fd_paddle_job *job, fd_buffer *to)
{
    if (job->micro_batch == 0 && fd_span_is(job->type, p->start)) {
        end_step(p, to);
        p->steps++;
        p->step_start = job->start_ns;
        p->step_end = job->end_ns;
    }
    p->step_end = job->end_ns > p->step_end ? job->end_ns : p->step_end;
    int size = (int)fd_span_size(job->type);
    fd_buffer_format(
        to, ",\n{\"ph\":\"X\",\"cat\":\"%.*s\",\"name\":\"%.*s_%" PRIu64, size,
        job->type.from, size, job->type.from, job->number);
    write_rest(p, JOBS, job->start_ns, job->end_ns, to);
    fd_buffer_format(to,
                     ",\"args\":{\"job\":%" PRIu64 ",\"micro_batch\":%" PRIu64,
                     job->number, job->micro_batch);
    if (p->steps > 0) {
        fd_buffer_format(to, ",\"step\":%" PRIu64,
                         p->first_step + p->steps - 1);
    }
    fd_buffer_text(to, "}}");
}

static fd_status
finish(paddle *p, fd_error *error)
{
    p->in->read = p->in->size;
    p->in->lost = p->bad + (p->log.trouble != NULL);
    if (p->in->lost == 0) {
        return FD_OK;
    }
    return p->log.trouble != NULL
             ? fd_fail(error, FD_EFORMAT, "%s", p->log.trouble)
             : fd_fail(error, FD_EFORMAT,
                       "%" PRIu64 " jobs that cannot be read, the first in "
                       "line %" PRIu64,
                       p->bad, p->first_bad);
}

static fd_status
produce(void *context, fd_buffer *to, fd_error *error)
{
    paddle *p = context;
    fd_span line;
    fd_paddle_job job;
    fd_paddle_found found;
    uint64_t step;
    if (p->ended) {
        return finish(p, error);
    }
    if (!p->begun) {
        write_head(p, to);
        p->begun = true;
    }
    while (to->size < fd_budget(PIECE) && to->status == FD_OK
           && next_line(p, &line)) {
        while ((found = fd_paddle_line_next(&line, &job, &step))
               != FD_PADDLE_NOTHING) {
            if (found == FD_PADDLE_JOB) {
                write_job(p, &job, to);
            }
            if (found == FD_PADDLE_BAD && p->bad++ == 0) {
                p->first_bad = p->line;
            }
        }
    }
    p->in->read = p->log.read;
    if (to->size < fd_budget(PIECE)) {
        end_step(p, to);
        fd_buffer_text(to, "\n]}\n");
        p->ended = true;
    }
    return p->log.status;
}

/* "machine1" of machine1/workerlog.3, and 3. */
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
fd_timeline_from_paddle(fd_bytes_in *in, const char *path, fd_error *error)
{
    paddle *p = fd_calloc(1, sizeof *p);
    if (p == NULL) {
        return FD_ENOMEM;
    }
    uint64_t size = in->size;
    take_names(p, path);
    p->log = *in;
    *in = (fd_bytes_in){.fd = -1};
    fd_status status = look(p, error);
    fd_bytes_in_close(&p->log);
    if (status == FD_OK) {
        status = fd_bytes_in_open(&p->log, path, error);
    }
    if (status != FD_OK) {
        release(p);
        return status;
    }
    p->in = in;
    p->line = p->bad = 0;
    status = fd_bytes_in_produced(in, produce, release, p);
    in->size = size;
    return status;
}
