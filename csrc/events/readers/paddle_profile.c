#include "events/readers/paddle_profile.h"

#include "events/slice_kinds.h"
#include "streams/output_stream.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { STEP_ROW = 2333, FIRST_ROW = 2334, FILES = 2, LABEL = 48 };

typedef struct span {
    uint64_t number;
    int64_t begin;
    int64_t end;
} span;

/* A row of the output: one input. */
typedef struct row {
    fd_timeline_input *input; /* borrowed */
    uint64_t device;
    uint32_t machine;
    bool of_machine; /* the input has a machine name */
    uint32_t first;  /* index of its first step in `steps`, in its own order */
    uint32_t count;
} row;

typedef struct profile {
    const fd_timeline_request *request;
    char paths[FILES][PATH_MAX];
    fd_bytes_out *out[FILES]; /* the plain file and the one for Perfetto */
    fd_json_writer json[FILES];
    FD_VECTOR(row) rows;
    FD_VECTOR(span) steps;        /* steps of all rows, with aligned times */
    FD_VECTOR(span) common;       /* steps of all rows combined */
    FD_VECTOR(uint32_t) index_of; /* for each step, its index in `common` */
    int64_t base_ns;
    uint64_t jobs;
    fd_error *error;
} profile;

static const struct {
    const char *type;
    const char *color;
} colors[] = {
    {"forward", "thread_state_running"}, {"backward", "rail_idle"},
    {"optimizer", "rail_response"},      {"default", "thread_state_unknown"},
    {"step", "thread_state_unknown"},
};

/* Return the color of a job type by its prefix: "backward_b" has the color of
 * "backward". */
static const char *
color_of(fd_span type)
{
    for (size_t i = 0; i < sizeof colors / sizeof *colors; i++) {
        if (fd_span_begins(type, colors[i].type)) {
            return colors[i].color;
        }
    }
    return NULL;
}

static fd_status
add_row(profile *p, fd_timeline_input *input)
{
    row made = {.input = input,
                .device = input->rank,
                .first = p->steps.count,
                .of_machine = strncmp(input->survey.host, "machine", 7) == 0};
    if (p->rows.count > 0) {
        const row *last = &p->rows.list[p->rows.count - 1];
        bool same = strcmp(last->input->survey.host, input->survey.host) == 0;
        made.machine = last->machine + !same;
    }
    return fd_vector_push(&p->rows, made);
}

/* Make the first pass: find the device of the input and the times of its
 * steps. */
static fd_status
survey_row(profile *p, row *r)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    span step;
    fd_span value;
    const fd_clock_map *clock = &r->input->clock;
    fd_status status =
        fd_timeline_reader_open(&reader, r->input->path, p->error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_MEMBER) {
            uint64_t device;
            bool known = fd_span_is(reader.key, "paddle")
                      && fd_scan_find(reader.value, "device", &value)
                      && fd_span_u64(value, &device);
            r->device = known ? device : r->device;
        }
        else if (fd_timeline_is_step(&reader.event, &step.number, &step.begin,
                                     &step.end)) {
            step.begin = fd_clock_apply(clock, step.begin);
            step.end = fd_clock_apply(clock, step.end);
            status = fd_vector_push(&p->steps, step);
            r->count++;
        }
    }
    fd_then(status, reader.status);
    fd_timeline_reader_close(&reader);
    return status;
}

static int64_t
span_distance(const span *a, const span *b)
{
    int64_t between =
        (a->begin / 2 + a->end / 2) - (b->begin / 2 + b->end / 2);
    return between < 0 ? -between : between;
}

/* Return the index of the reference step that is nearest in time, so that a
 * row without some step does not shift the others. If the times do not
 * overlap, return the same index. */
static uint32_t
index_of(const profile *p, const row *r, uint32_t step, const row *reference)
{
    const span *own = &p->steps.list[r->first];
    const span *other = &p->steps.list[reference->first];
    if (own[0].begin > other[reference->count - 1].end
        || own[r->count - 1].end < other[0].begin) {
        return step;
    }
    uint32_t best = 0;
    for (uint32_t i = 1; i < reference->count; i++) {
        if (span_distance(&own[step], &other[i])
            < span_distance(&own[step], &other[best])) {
            best = i;
        }
    }
    return best;
}

/* Combine the steps of all rows. The row with the most steps is the reference;
 * only one worker may have logged the number of the first step. */
static fd_status
join_steps(profile *p)
{
    const row *reference = NULL;
    uint64_t first = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.list[i];
        reference =
            reference == NULL || r->count > reference->count ? r : reference;
        if (r->count > 0 && p->steps.list[r->first].number > first) {
            first = p->steps.list[r->first].number;
        }
    }
    uint32_t count = reference != NULL ? reference->count : 0;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        span each = p->steps.list[reference->first + i];
        uint64_t own = p->steps.list[reference->first].number;
        each.number = each.number - own + (own > first ? own : first);
        status = fd_vector_push(&p->common, each);
    }
    for (uint32_t i = 0; i < p->rows.count && status == FD_OK; i++) {
        const row *r = &p->rows.list[i];
        for (uint32_t j = 0; j < r->count && status == FD_OK; j++) {
            const span *own = &p->steps.list[r->first + j];
            uint32_t index = index_of(p, r, j, reference);
            span *all = &p->common.list[index];
            all->begin = own->begin < all->begin ? own->begin : all->begin;
            all->end = own->end > all->end ? own->end : all->end;
            status = fd_vector_push(&p->index_of, index);
        }
    }
    return status;
}

typedef struct slice {
    fd_span name; /* JSON string without its quotes */
    fd_span type;
    fd_span args;   /* or {NULL, NULL} */
    const row *row; /* NULL: the row of the steps */
    int64_t begin;
    int64_t end;
} slice;

static void
put_string(fd_buffer *to, fd_span inside, const char *more)
{
    fd_buffer_text(to, "\"");
    fd_buffer_bytes(to, inside.from, fd_span_size(inside));
    fd_buffer_text(to, more);
    fd_buffer_text(to, "\"");
}

static const char *
row_label(const row *r, const char *steps, const char *device, char *text)
{
    if (r == NULL) {
        return steps;
    }
    int size = snprintf(text, LABEL, "%s%" PRIu64, device, r->device);
    if (r->of_machine) {
        snprintf(text + size, (size_t)(LABEL - size), "(machine:%u)",
                 r->machine);
    }
    return text;
}

static uint64_t
row_number(const profile *p, const row *r)
{
    return r == NULL ? STEP_ROW : FIRST_ROW + (uint64_t)(r - p->rows.list);
}

static void
write_edge(profile *p, int file, const slice *s, bool begins)
{
    char label[LABEL];
    char duration[LABEL] = "";
    uint64_t us = (uint64_t)(s->end - s->begin + 500) / 1000;
    fd_json_writer *w = &p->json[file];
    const char *color = color_of(s->type);
    if (p->request->named_durations) {
        /* Always in ms: Perfetto gives the same color to names that differ
         * only in digits. */
        snprintf(duration, LABEL, " (%" PRIu64 ".%03u ms)", us / 1000,
                 (unsigned)(us % 1000));
    }
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    put_string(fd_json_put(w, "name"), s->name, duration);
    put_string(fd_json_put(w, "cat"), s->type, "");
    fd_json_put_text(w, "ph", begins ? "B" : "E");
    fd_json_put_milli(w, "ts", p->base_ns + (begins ? s->begin : s->end));
    fd_json_put_u64(w, "pid", 0);
    if (file == 0) {
        fd_json_put_text(w, "tid", row_label(s->row, "Step", "GPU", label));
    }
    else {
        fd_json_put_u64(w, "tid", row_number(p, s->row));
    }
    if (color != NULL) {
        fd_json_put_text(w, "cname", color);
    }
    if (begins && s->args.from != NULL) {
        fd_json_put_raw(w, "args", s->args.from, fd_span_size(s->args));
    }
    fd_json_end_object(w);
}

static void
write_slice(profile *p, const slice *s)
{
    for (int file = 0; file < FILES; file++) {
        write_edge(p, file, s, true);
        write_edge(p, file, s, false);
    }
}

static bool
is_wanted(const profile *p, uint64_t step)
{
    const fd_timeline_request *request = p->request;
    return !request->has_steps
        || (step >= request->first_step && step < request->end_step);
}

/* Append the arguments of a job, with its step as numbered for all rows. */
static bool
write_args(const profile *p, const row *r, fd_span args, fd_buffer *to)
{
    fd_span value;
    uint64_t number;
    uint64_t job;
    fd_json_writer w = {.to = to};
    fd_json_begin_object(&w, NULL);
    if (fd_scan_find(args, "job", &value) && fd_span_u64(value, &job)) {
        fd_json_put_u64(&w, "job", job);
    }
    if (!fd_scan_find(args, "micro_batch", &value)
        || !fd_span_u64(value, &number)) {
        return false;
    }
    fd_json_put_u64(&w, "micro_batch", number);
    bool known = fd_scan_find(args, "step", &value)
              && fd_span_u64(value, &number) && r->count > 0;
    uint64_t own =
        known ? number - p->steps.list[r->first].number : UINT64_MAX;
    if (known && own < r->count) {
        uint32_t index = p->index_of.list[r->first + (uint32_t)own];
        number = p->common.list[index].number;
        fd_json_put_u64(&w, "step", number);
    }
    fd_json_end_object(&w);
    return is_wanted(p, known && own < r->count ? number : UINT64_MAX);
}

static fd_status
write_event(profile *p, row *r, const fd_timeline_event *event)
{
    slice made = {.row = r};
    fd_span own = event->args;
    if (own.from == NULL || event->name.from == NULL || event->cat.from == NULL
        || !fd_timeline_interval(event, &made.begin, &made.end)) {
        return FD_OK;
    }
    fd_buffer args = {.bytes = NULL};
    bool wanted = write_args(p, r, own, &args);
    fd_status status = args.status;
    if (wanted && status == FD_OK) {
        made.begin = fd_clock_apply(&r->input->clock, made.begin);
        made.end = fd_clock_apply(&r->input->clock, made.end);
        made.name = fd_span_inside(event->name);
        made.type = fd_span_inside(event->cat);
        made.args = fd_span_of(&args);
        write_slice(p, &made);
        p->jobs++;
        r->input->events++;
        status = fd_bytes_out_flow(p->out[0], p->error);
        fd_then(status, fd_bytes_out_flow(p->out[1], p->error));
    }
    fd_buffer_clear(&args);
    return status;
}

static fd_status
write_input(profile *p, row *r)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_timeline_input *input = r->input;
    fd_status status = fd_timeline_reader_open(&reader, input->path, p->error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_EVENT) {
            status = write_event(p, r, &reader.event);
        }
    }
    fd_then(status, reader.status);
    input->lost = reader.lost;
    input->lost_bytes = reader.lost_bytes;
    memcpy(input->trouble, reader.trouble, sizeof input->trouble);
    fd_timeline_reader_close(&reader);
    return status;
}

static void
write_steps(profile *p)
{
    static const char type[] = "step";
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < p->common.count; i++) {
        const span *each = &p->common.list[i];
        char name[32];
        int size = snprintf(name, sizeof name, "step%" PRIu64, each->number);
        slice made = {.name = {name, name + size},
                      .type = {type, type + sizeof type - 1},
                      .begin = each->begin > last ? each->begin : last,
                      .end = each->end};
        last = each->end;
        if (is_wanted(p, each->number) && made.end >= made.begin) {
            write_slice(p, &made);
        }
    }
}

static void
write_row_name(profile *p, const row *r)
{
    char label[LABEL];
    fd_json_writer *w = &p->json[1];
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    fd_json_begin_object(w, "args");
    fd_json_put_text(w, "name", row_label(r, "STEP", "GPU:", label));
    fd_json_end_object(w);
    fd_json_put_text(w, "cat", "__metadata");
    fd_json_put_text(w, "name", "thread_name");
    fd_json_put_text(w, "ph", "M");
    fd_json_put_u64(w, "pid", 0);
    fd_json_put_u64(w, "tid", row_number(p, r));
    fd_json_put_u64(w, "ts", 0);
    fd_json_end_object(w);
}

static fd_status
write_all(profile *p)
{
    fd_status status = FD_OK;
    for (int i = 0; i < FILES; i++) {
        p->json[i].to = fd_bytes_out_text(p->out[i]);
        fd_json_begin_object(&p->json[i], NULL);
        fd_json_begin_array(&p->json[i], "traceEvents");
    }
    for (uint32_t i = 0; i < p->rows.count && status == FD_OK; i++) {
        status = write_input(p, &p->rows.list[i]);
    }
    if (status == FD_OK && p->jobs == 0) {
        return fd_fail(p->error, FD_EFORMAT,
                       "%s: no job%s in it: nothing is written",
                       p->rows.list[0].input->path,
                       p->request->has_steps ? " of these steps" : "");
    }
    write_steps(p);
    write_row_name(p, NULL);
    for (uint32_t i = 0; i < p->rows.count; i++) {
        write_row_name(p, &p->rows.list[i]);
    }
    for (int i = 0; i < FILES; i++) {
        fd_json_line(&p->json[i]);
        fd_json_end_array(&p->json[i]);
        fd_json_end_object(&p->json[i]);
        fd_buffer_text(p->json[i].to, "\n");
    }
    return status;
}

static fd_status
open_files(profile *p)
{
    static const char *const names[FILES] = {"pipeline_profile.json",
                                             "pipeline_profile_perfetto.json"};
    fd_status status = FD_OK;
    for (int i = 0; i < FILES && status == FD_OK; i++) {
        int size = snprintf(p->paths[i], PATH_MAX, "%s/%s", p->request->output,
                            names[i]);
        status = size < PATH_MAX
                   ? FD_OK
                   : fd_fail(p->error, FD_EINVAL, "%s: too long a path",
                             p->request->output);
        if (status == FD_OK) {
            p->out[i] = fd_bytes_out_open(p->paths[i], &status, p->error);
        }
    }
    return status;
}

static fd_status
close_files(profile *p, fd_status status)
{
    for (int i = 0; i < FILES; i++) {
        if (p->out[i] != NULL && status == FD_OK) {
            status = fd_bytes_out_keep(p->out[i], p->error);
        }
        else {
            fd_bytes_out_drop(p->out[i]);
        }
    }
    return status;
}

fd_status
fd_timeline_paddle_profile(const fd_timeline_request *request,
                           const fd_timeline_inputs *inputs,
                           const fd_timeline_clock *clock, fd_error *error)
{
    profile p = {.request = request,
                 .base_ns = clock->has_base ? clock->base_ns : 0,
                 .error = error};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < inputs->count && status == FD_OK; i++) {
        status = add_row(&p, inputs->list[i]);
        fd_then(status, survey_row(&p, &p.rows.list[i]));
    }
    fd_then(status, join_steps(&p));
    fd_then(status, open_files(&p));
    fd_then(status, write_all(&p));
    status = close_files(&p, status);
    fd_vector_clear(&p.rows);
    fd_vector_clear(&p.steps);
    fd_vector_clear(&p.common);
    fd_vector_clear(&p.index_of);
    return status;
}
