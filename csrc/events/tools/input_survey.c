#include "events/tools/input_survey.h"

#include "base/budget.h"
#include "json/decimal.h"
#include "json/json_writer.h"

#include <stdio.h>
#include <string.h>

/* Return whether a member has the real time of time 0. */
static bool
has_base(fd_span key, fd_span value)
{
    uint64_t ns;
    fd_span base = value;
    bool there = fd_span_is(key, "baseTimeNanoseconds")
              || (fd_span_is(key, "viztracer_metadata")
                  && fd_scan_find(value, "baseTimeNanoseconds", &base));
    return there && fd_decimal_whole(base, &ns) && ns <= INT64_MAX;
}

/* Keep a member that says something about the file. */
static void
take_member(fd_timeline_survey *survey, const fd_timeline_reader *reader)
{
    static const char *const names[] = {"baseTimeNanoseconds",
                                        "clock",
                                        "coordinates",
                                        "deviceProperties",
                                        "distributedInfo",
                                        "host_name",
                                        "hostname",
                                        "mergedFiles",
                                        "paddle",
                                        "rank",
                                        "recordings",
                                        "trace_id",
                                        "traceName",
                                        "viztracer_metadata"};
    fd_buffer *to = &survey->members;
    fd_span value = reader->value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (fd_span_is(reader->key, names[i])) {
            fd_buffer_bytes(to, names[i], strlen(names[i]) + 1);
            if (fd_span_size(value) <= FD_TIMELINE_MEMBER_BYTES) {
                fd_scan_copy(&reader->scan, value, to);
            }
            fd_buffer_bytes(to, "", 1);
        }
    }
    survey->has_base = survey->has_base || has_base(reader->key, value);
}

static void
take_event(fd_timeline_survey *survey, const fd_timeline_event *event)
{
    if (event->has_start && event->phase != 'M'
        && (!survey->has_first || event->start < survey->first_ns)) {
        survey->has_first = true;
        survey->first_ns = event->start;
    }
}

/* Return whether an event may be of a collective or a message, by a few bytes
 * of its name. Ends often have no name. */
static bool
may_matter(fd_timeline_survey *survey, const fd_timeline_event *event)
{
    static const char *const begins[] = {"gloo:", "nccl", "c10d::", "send",
                                         "rec"};
    bool paired = event->phase == 'B' || event->phase == 'E';
    bool matters = paired && survey->begun;
    for (size_t i = 0; i < sizeof begins / sizeof *begins && !matters; i++) {
        matters = event->phase != 0 && strchr("XbeBE", event->phase) != NULL
               && fd_timeline_named(event)
               && fd_span_begins(fd_span_inside(event->name), begins[i]);
    }
    survey->begun = survey->begun || (paired && matters);
    return matters;
}

/* Pass on the rows, and forget their texts. */
static fd_status
give_rows(fd_timeline_survey *survey, fd_error *error)
{
    fd_status status = fd_row_batch_give(&survey->batch, error);
    fd_text_pool_clear(&survey->batch.texts.texts);
    return status;
}

/* Set the order of a collective as `number`, and the name and the other
 * arguments of use as texts. */
static fd_status
describe_moment(fd_slice_texts *texts, const fd_timeline_event *event,
                fd_event_row *row)
{
    static const char *const names[] = {
        "Seq",           "Process Group Name", "Input Dims",
        "In msg nelems", "Concrete Inputs",    "peer",
        "tag",           "micro_batch",        "Dst Rank",
        "Src Rank"};
    enum { NAMES = sizeof names / sizeof *names };
    fd_span values[NAMES] = {{NULL, NULL}};
    fd_json_writer w = {.to = &texts->scratch};
    fd_span name = fd_timeline_text(event->name);
    fd_status status = fd_text_pool_add(&texts->texts, name.from,
                                        fd_span_size(name), &row->name);
    if (status != FD_OK || event->args.from == NULL
        || !fd_scan_members(event->args, names, NAMES, values)) {
        return status;
    }
    bool ordered = values[0].from != NULL
                && fd_span_u64(fd_span_inside(values[0]), &row->number);
    row->flags |= ordered ? FD_ROW_NUMBER : 0;
    w.to->size = 0;
    fd_json_begin_object(&w, NULL);
    for (size_t i = 1; i < NAMES; i++) {
        if (values[i].from != NULL) {
            fd_buffer_bytes(fd_json_put(&w, names[i]), values[i].from,
                            fd_span_size(values[i]));
        }
    }
    fd_json_end_object(&w);
    return fd_then(w.to->status, fd_text_pool_add(&texts->texts, w.to->bytes,
                                                  w.to->size, &row->type));
}

static fd_status
add_moment(fd_timeline_survey *survey, const fd_timeline_event *event,
           fd_error *error)
{
    fd_row_batch *batch = &survey->batch;
    fd_event_row row = {.event = survey->events};
    if (!may_matter(survey, event)) {
        return FD_OK;
    }
    fd_event_row_place(event, &row);
    fd_status status = describe_moment(&batch->texts, event, &row);
    fd_then(status, fd_vector_push(&batch->rows, row));
    return status == FD_OK && batch->rows.count >= fd_budget(FD_EVENT_ROWS)
             ? give_rows(survey, error)
             : status;
}

/* Return whether no further event needs to be read. */
static bool
is_enough(fd_timeline_survey *survey, const fd_timeline_reader *reader,
          fd_timeline_survey_options options, fd_status *status,
          fd_error *error)
{
    uint64_t bytes = reader->maker.fill != NULL
                       ? reader->in.read
                       : fd_bytes_in_offset(&reader->in, reader->in.at);
    bool timed =
        survey->has_first || bytes > fd_budget(FD_TIMELINE_FIRST_BYTES);
    if (options.first || !timed || options.take == NULL) {
        return timed && !options.first;
    }
    if (*options.found || bytes <= fd_budget(FD_TIMELINE_SYNC_BYTES)) {
        return false;
    }
    *status = give_rows(survey, error);
    return !*options.found;
}

/* Read items. `more`: reading stopped at an event, and top-level members may
 * follow the events. */
static fd_status
read_items(fd_timeline_survey *survey, fd_timeline_reader *reader,
           fd_timeline_survey_options options, bool to_the_end, bool *more,
           fd_error *error)
{
    fd_timeline_item item;
    fd_status status = FD_OK;
    *more = false;
    while (status == FD_OK
           && (item = fd_timeline_reader_next(reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_MEMBER) {
            take_member(survey, reader);
            status = survey->members.status;
            continue;
        }
        survey->events++;
        take_event(survey, &reader->event);
        if (options.take != NULL) {
            status = add_moment(survey, &reader->event, error);
        }
        if (status == FD_OK && !to_the_end && reader->is_trace
            && is_enough(survey, reader, options, &status, error)) {
            /* Other formats have their members before the events. */
            *more = !survey->has_base && !reader->bare
                 && reader->source->open == NULL;
            break;
        }
    }
    return fd_then(status, give_rows(survey, error));
}

/* Events are read a second time only if the first ones are of no use. */
static fd_status
read_twice(fd_timeline_survey *survey, fd_timeline_reader *reader,
           const char *path, fd_timeline_survey_options options,
           fd_error *error)
{
    static const char *const later[] = {"\"baseTimeNanoseconds\"",
                                        "\"distributedInfo\"", "\"rank\""};
    enum { LATER = sizeof later / sizeof *later };
    bool more = false;
    fd_status status = fd_timeline_reader_open(reader, path, error);
    survey->batch.take = options.take;
    survey->batch.context = options.context;
    fd_then(status, read_items(survey, reader, options, false, &more, error));
    if (status == FD_OK && more
        && fd_bytes_in_find(&reader->in, later, LATER)) {
        fd_timeline_reader_close(reader);
        fd_timeline_survey_clear(survey);
        status = fd_timeline_reader_open(reader, path, error);
        options.take = NULL;
        fd_then(status,
                read_items(survey, reader, options, true, &more, error));
    }
    return status;
}

fd_status
fd_timeline_survey_read(fd_timeline_survey *survey, const char *path,
                        fd_timeline_survey_options options, fd_error *error)
{
    fd_timeline_reader reader;
    *survey = (fd_timeline_survey){.format = ""};
    fd_status status = read_twice(survey, &reader, path, options, error);
    survey->is_trace = reader.is_trace;
    survey->size = reader.in.size;
    survey->format = reader.source != NULL ? reader.source->name : "";
    snprintf(survey->trouble, sizeof survey->trouble, "%s",
             reader.is_trace             ? ""
             : reader.trouble[0] != '\0' ? reader.trouble
                                         : "no traceEvents in it");
    status = status == FD_EFORMAT || status == FD_EVERSION ? FD_OK : status;
    status = status != FD_OK ? status : reader.status;
    fd_timeline_reader_close(&reader);
    return status;
}

void
fd_timeline_survey_clear(fd_timeline_survey *survey)
{
    fd_row_batch_clear(&survey->batch);
    fd_buffer_clear(&survey->members);
}
