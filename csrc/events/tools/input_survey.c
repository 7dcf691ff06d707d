#include "events/tools/input_survey.h"

#include "base/budget.h"
#include "json/decimal.h"

#include <stdio.h>

static bool
find_number(fd_span object, const char *name, uint64_t most, uint64_t *number)
{
    fd_span value;
    return fd_scan_find(object, name, &value)
        && fd_decimal_whole(value, number) && *number <= most;
}

static void
take_base(fd_timeline_survey *survey, uint64_t base)
{
    survey->has_base = base <= INT64_MAX;
    survey->unread = survey->has_base ? survey->unread : "baseTimeNanoseconds";
    survey->base_ns = survey->has_base ? (int64_t)base : 0;
}

/* Set the rank. One that is not a whole number is not used. */
static void
take_rank(fd_timeline_survey *survey, fd_span value)
{
    uint64_t rank;
    survey->has_rank =
        fd_decimal_whole(value, &rank) && rank < FD_TIMELINE_RANKS;
    survey->rank = survey->has_rank ? (uint32_t)rank : 0;
    survey->unread = survey->has_rank ? survey->unread : "rank";
}

/* Set the program by members that no other program writes. */
static void
take_program(fd_timeline_survey *survey, fd_span key)
{
    static const char *const members[][2] = {
        {"recordings", FD_TIMELINE_OURS},
        {"paddle", "Paddle"},
        {"deviceProperties", "torch.profiler"},
        {"trace_id", "torch.profiler"},
        {"traceName", "torch.profiler"},
        {"viztracer_metadata", "VizTracer"},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (fd_span_is(key, members[i][0])) {
            survey->program = members[i][1];
        }
    }
}

static void
take_member(fd_timeline_survey *survey, fd_span key, fd_span value)
{
    uint64_t number;
    take_program(survey, key);
    if (fd_span_is(key, "mergedFiles") && fd_span_u64(value, &number)
        && number <= UINT32_MAX) {
        survey->merged = (uint32_t)number;
    }
    else if (fd_span_is(key, "baseTimeNanoseconds")) {
        bool known = fd_decimal_whole(value, &number);
        take_base(survey, known ? number : UINT64_MAX);
    }
    else if (fd_span_is(key, "viztracer_metadata") && !survey->has_base
             && find_number(value, "baseTimeNanoseconds", INT64_MAX,
                            &number)) {
        take_base(survey, number);
    }
    else if (fd_span_is(key, "host_name") || fd_span_is(key, "hostname")) {
        fd_span_words(value, survey->host, FD_TIMELINE_NAME);
    }
    else if (fd_span_is(key, "coordinates")) {
        fd_span_words(value, survey->coordinates, FD_TIMELINE_NAME);
    }
    else if (fd_span_is(key, "rank") && !survey->has_rank) {
        take_rank(survey, value);
    }
    else if (fd_span_is(key, "distributedInfo")) {
        fd_span words;
        if (fd_scan_find(value, "rank", &words)) {
            take_rank(survey, words);
        }
        bool known =
            find_number(value, "world_size", FD_TIMELINE_RANKS, &number);
        survey->world = known ? (uint32_t)number : 0;
        if (fd_scan_find(value, "coordinates", &words)) {
            fd_span_words(words, survey->coordinates, FD_TIMELINE_NAME);
        }
    }
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
            take_member(survey, reader->key, reader->value);
            status = fd_timeline_sync_member(&survey->sync, reader->key,
                                             reader->value);
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
        fd_timeline_sync_clear(&survey->sync);
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
    *survey = (fd_timeline_survey){.program = "", .format = ""};
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
}
