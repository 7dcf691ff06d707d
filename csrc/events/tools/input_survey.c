#include "events/tools/input_survey.h"

#include "base/budget.h"
#include "json/decimal.h"

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

/* Return whether no further event needs to be read. */
static bool
is_enough(const fd_timeline_survey *survey, const fd_timeline_reader *reader,
          fd_timeline_survey_options options)
{
    const fd_timeline_sync *sync = &survey->sync;
    uint64_t bytes = reader->maker.fill != NULL
                       ? reader->in.read
                       : fd_bytes_in_offset(&reader->in, reader->in.at);
    bool timed =
        survey->has_first || bytes > fd_budget(FD_TIMELINE_FIRST_BYTES);
    return !options.first && timed
        && (!options.sync
            || (sync->parts.count + sync->messages.count == 0
                && bytes > fd_budget(FD_TIMELINE_SYNC_BYTES)));
}

/* Read items. `more`: reading stopped at an event, and top-level members may
 * follow the events. */
static fd_status
read_items(fd_timeline_survey *survey, fd_timeline_reader *reader,
           fd_timeline_survey_options options, bool to_the_end, bool *more)
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
        take_event(survey, &reader->event);
        if (options.sync) {
            status = fd_timeline_sync_event(&survey->sync, &reader->event);
        }
        if (!to_the_end && reader->is_trace
            && is_enough(survey, reader, options)) {
            /* Other formats have their members before the events. */
            *more = !survey->has_base && !reader->bare
                 && reader->source->open == NULL;
            break;
        }
    }
    return status;
}

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
    fd_then(status, read_items(survey, reader, options, false, &more));
    if (status == FD_OK && more
        && fd_bytes_in_find(&reader->in, later, LATER)) {
        fd_timeline_reader_close(reader);
        fd_timeline_survey_clear(survey);
        status = fd_timeline_reader_open(reader, path, error);
        fd_then(status, read_items(survey, reader, options, true, &more));
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
    fd_timeline_sync_clear(&survey->sync);
    fd_buffer_clear(&survey->members);
}
