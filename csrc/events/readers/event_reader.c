#include "events/readers/event_reader.h"

#include "events/readers/chrome_scan.h"
#include "json/json_text.h"

#include <stdio.h>
#include <string.h>

typedef fd_scan_result step(fd_timeline_reader *reader);

fd_status
fd_timeline_reader_open(fd_timeline_reader *reader, const char *path,
                        fd_error *error)
{
    fd_error why = {""};
    size_t size = strlen(path);
    *reader = (fd_timeline_reader){.first = true};
    fd_status status = fd_timeline_source_open(&reader->maker, &reader->in,
                                               path, &reader->source, &why);
    reader->in.error = error;
    reader->is_trace = reader->maker.fill != NULL;
    if (status == FD_OK || status == FD_ENOMEM) {
        return status;
    }
    if (reader->source == NULL) {
        return fd_fail(error, status, "%s", why.text);
    }
    bool named = strncmp(why.text, path, size) == 0
              && strncmp(why.text + size, ": ", 2) == 0;
    const char *text = why.text + (named ? size + 2 : 0);
    snprintf(reader->trouble, sizeof reader->trouble, "%.127s", text);
    return fd_fail(error, status, "%s: %.300s", path, text);
}

void
fd_timeline_reader_close(fd_timeline_reader *reader)
{
    fd_timeline_maker_close(&reader->maker);
    fd_batch_clear(&reader->batch);
    fd_bytes_in_close(&reader->in);
    fd_scan_clear(&reader->scan);
    fd_buffer_clear(&reader->rest);
    fd_buffer_clear(&reader->repaired);
}

/* Run a step on the text in memory, and repeat it with more text if the text
 * ends first. */
static fd_scan_result
attempt_step(fd_timeline_reader *r, step *take)
{
    fd_scan_result result;
    bool more;
    do {
        fd_scan_begin(&r->scan, r->in.at, r->in.end);
        result = take(r);
        /* Reading more moves the text. */
        size_t ahead = (size_t)(r->scan.at - r->in.at);
        more = result == FD_SCAN_CUT && fd_bytes_in_more(&r->in);
        r->scan.at = r->in.at + ahead;
    } while (more);
    if (result == FD_SCAN_ENOMEM || r->in.status != FD_OK) {
        r->status = r->in.status != FD_OK ? r->in.status : FD_ENOMEM;
        return FD_SCAN_ENOMEM;
    }
    if (result == FD_SCAN_OK || result == FD_SCAN_DONE) {
        r->in.at = r->scan.at;
    }
    return result;
}

static const char *
damage_reason(const fd_timeline_reader *r, fd_scan_result result)
{
    switch (result) {
    case FD_SCAN_CUT:
        return r->in.trouble != NULL ? r->in.trouble
             : r->in.ended           ? "cut short"
                                     : "a value of more than 16 MB";
    case FD_SCAN_DEEP:
        return "nested deeper than 512 levels";
    case FD_SCAN_OK:
    case FD_SCAN_DONE:
    case FD_SCAN_BAD:
    case FD_SCAN_ENOMEM:
        break;
    }
    return "not JSON";
}

/* Begin a damaged region at `in.at`; the scan stopped at the damage. */
static void
begin_damage(fd_timeline_reader *r, fd_scan_result result)
{
    r->lost++;
    r->damage = fd_bytes_in_offset(&r->in, r->in.at);
    if (r->trouble[0] == '\0') {
        snprintf(r->trouble, sizeof r->trouble, "%s at byte %llu",
                 damage_reason(r, result),
                 (unsigned long long)fd_bytes_in_offset(&r->in, r->scan.at));
    }
}

/* Count the rest of the file as lost. */
static void
lose_rest(fd_timeline_reader *r)
{
    do {
        r->in.at = r->in.end;
    } while (fd_bytes_in_more(&r->in));
    fd_then(r->status, r->in.status);
    r->lost_bytes += fd_bytes_in_offset(&r->in, r->in.end) - r->damage;
    r->state = FD_TIMELINE_AT_END;
}

/* Count a number or a text among the events as damage. */
static void
lose_value(fd_timeline_reader *r)
{
    r->lost++;
    r->lost_bytes += (uint64_t)(r->in.at - r->value.from);
    if (r->trouble[0] == '\0') {
        snprintf(
            r->trouble, sizeof r->trouble, "no event at byte %llu",
            (unsigned long long)fd_bytes_in_offset(&r->in, r->value.from));
    }
}

static fd_scan_result
start_step(fd_timeline_reader *r)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* UTF-8 byte order mark */
    fd_scan *scan = &r->scan;
    for (size_t i = 0; i < 3 && scan->at < scan->end; i++) {
        scan->at += *scan->at == mark[i];
    }
    fd_scan_space(scan);
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    r->bare = *scan->at == '[';
    return fd_scan_mark(scan, r->bare ? '[' : '{');
}

static bool
has_backslash(const char *from, const char *to)
{
    return from < to && memchr(from, '\\', (size_t)(to - from)) != NULL;
}

/* Return a copy of a text with repairs, and without escapes of printable
 * characters. */
static fd_span
plain_text(fd_timeline_reader *r, fd_span text)
{
    fd_buffer *to = &r->repaired;
    to->size = 0;
    fd_scan_copy(&r->scan, text, to);
    fd_json_plain(to);
    r->status = to->status != FD_OK ? FD_ENOMEM : r->status;
    return fd_span_of(to);
}

/* Read a member or the start of the array of events, which has no value. DONE
 * at the end of the object. */
static fd_scan_result
member_step(fd_timeline_reader *r)
{
    fd_scan *scan = &r->scan;
    fd_scan_result result = fd_scan_member(scan, r->first, &r->key);
    if (result != FD_SCAN_OK) {
        return result;
    }
    if (has_backslash(r->key.from, r->key.to)) {
        r->key = plain_text(r, r->key);
    }
    if (fd_span_is(r->key, "traceEvents")) {
        if (scan->at == scan->end) {
            return FD_SCAN_CUT;
        }
        if (*scan->at == '[') {
            scan->at++;
            r->value = (fd_span){NULL, NULL};
            return FD_SCAN_OK;
        }
    }
    const char *from = scan->at;
    r->begin = fd_bytes_in_offset(&r->in, from);
    result = fd_scan_value(scan);
    r->value = (fd_span){from, scan->at};
    return result;
}

/* Read an event. DONE at the end of the array. A comma before that end is
 * accepted: programs that append events write one. */
static fd_scan_result
event_step(fd_timeline_reader *r)
{
    fd_scan *scan = &r->scan;
    fd_scan_space(scan);
    if (!r->first && scan->at < scan->end && *scan->at != ']') {
        fd_scan_result result = fd_scan_mark(scan, ',');
        if (result != FD_SCAN_OK) {
            return result;
        }
        fd_scan_space(scan);
    }
    if (scan->at < scan->end && *scan->at == ']') {
        scan->at++;
        return FD_SCAN_DONE;
    }
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    r->is_event = *scan->at == '{';
    r->value.from = scan->at;
    r->begin = fd_bytes_in_offset(&r->in, scan->at);
    return r->is_event ? fd_chrome_scan(scan, &r->event, &r->rest)
                       : fd_scan_value(scan);
}

static fd_scan_result
bare_event_step(fd_timeline_reader *r)
{
    r->value.from = r->scan.at;
    r->begin = fd_bytes_in_offset(&r->in, r->scan.at);
    return fd_chrome_scan(&r->scan, &r->event, &r->rest);
}

/* Read "}" and a comma before the opening brace of the next object. */
static fd_scan_result
boundary_step(fd_timeline_reader *r)
{
    fd_scan *scan = &r->scan;
    scan->at++;
    fd_scan_result result = fd_scan_mark(scan, ',');
    if (result == FD_SCAN_OK) {
        result = fd_scan_mark(scan, '{');
        scan->at -= result == FD_SCAN_OK;
    }
    return result;
}

static bool
skip_to_brace(fd_timeline_reader *r)
{
    for (;;) {
        size_t size = (size_t)(r->in.end - r->in.at);
        const char *brace = size > 0 ? memchr(r->in.at, '}', size) : NULL;
        if (brace != NULL) {
            r->in.at = brace;
            return true;
        }
        r->in.at = r->in.end;
        if (!fd_bytes_in_more(&r->in)) {
            return false;
        }
    }
}

/* Find the next event after damage; return false at the end of the file. */
static bool
recover_event(fd_timeline_reader *r)
{
    while (r->status == FD_OK && skip_to_brace(r)) {
        if (attempt_step(r, boundary_step) != FD_SCAN_OK) {
            r->in.at += r->in.at < r->in.end;
            continue;
        }
        uint64_t begin = fd_bytes_in_offset(&r->in, r->in.at);
        fd_scan_result result = attempt_step(r, bare_event_step);
        if (result == FD_SCAN_OK && r->event.phase != 0) {
            r->lost_bytes += begin - r->damage;
            r->is_trace = true;
            r->state = FD_TIMELINE_IN_EVENTS;
            return true;
        }
        /* The scanned object can end with a brace that starts a boundary. */
        r->in.at = result == FD_SCAN_OK ? r->in.at - 1 : r->scan.at;
    }
    lose_rest(r);
    return false;
}

static void
start_file(fd_timeline_reader *r)
{
    fd_scan_result result = attempt_step(r, start_step);
    if (result == FD_SCAN_OK) {
        r->state = r->bare ? FD_TIMELINE_IN_EVENTS : FD_TIMELINE_IN_OBJECT;
        return;
    }
    begin_damage(r, result);
    fd_scan value = r->scan;
    if (r->in.end == r->in.at && r->damage == 0) {
        snprintf(r->trouble, sizeof r->trouble, "%s",
                 r->in.trouble != NULL ? r->in.trouble : "empty");
    }
    else if (result == FD_SCAN_BAD && fd_scan_value(&value) != FD_SCAN_BAD) {
        snprintf(r->trouble, sizeof r->trouble, "one value, no events");
    }
    lose_rest(r);
}

/* Check that only white space is left. */
static fd_scan_result
tail_step(fd_timeline_reader *r)
{
    fd_scan_space(&r->scan);
    r->in.at = r->scan.at;
    return r->scan.at == r->scan.end ? FD_SCAN_CUT : FD_SCAN_BAD;
}

static void
finish_file(fd_timeline_reader *r)
{
    fd_scan_result result = attempt_step(r, tail_step);
    r->state = FD_TIMELINE_AT_END;
    if (result == FD_SCAN_BAD || r->in.trouble != NULL) {
        begin_damage(r, result);
        lose_rest(r);
    }
}

static fd_timeline_item
read_member(fd_timeline_reader *r)
{
    fd_scan_result result = attempt_step(r, member_step);
    if (result == FD_SCAN_DONE) {
        finish_file(r);
        return FD_TIMELINE_END;
    }
    if (result != FD_SCAN_OK) {
        begin_damage(r, result);
        lose_rest(r);
        return FD_TIMELINE_END;
    }
    if (r->value.from != NULL) {
        r->first = false;
        return FD_TIMELINE_MEMBER;
    }
    r->first = true;
    r->is_trace = true;
    r->state = FD_TIMELINE_IN_EVENTS;
    return FD_TIMELINE_END;
}

/* Return whether the file may end here: a bare array needs no
 * closing bracket. */
static bool
may_end_here(const fd_timeline_reader *r, fd_scan_result result)
{
    const char *at = r->in.at;
    while (at < r->in.end && strchr(" \r\n\t,", *at) != NULL && *at != '\0') {
        at++;
    }
    return r->bare && result == FD_SCAN_CUT && at == r->in.end
        && r->in.trouble == NULL;
}

static fd_timeline_item
read_event(fd_timeline_reader *r)
{
    fd_scan_result result = attempt_step(r, event_step);
    if (result == FD_SCAN_DONE) {
        r->first = false;
        r->state = FD_TIMELINE_IN_OBJECT;
        if (r->bare) {
            finish_file(r);
        }
        return FD_TIMELINE_END;
    }
    if (result == FD_SCAN_OK) {
        r->first = false;
        if (!r->is_event) {
            lose_value(r);
            return FD_TIMELINE_END;
        }
        r->is_trace = r->is_trace || r->event.phase != 0;
        return FD_TIMELINE_EVENT;
    }
    if (may_end_here(r, result)) {
        r->state = FD_TIMELINE_AT_END;
        return FD_TIMELINE_END;
    }
    begin_damage(r, result);
    r->first = false;
    r->state = FD_TIMELINE_IN_DAMAGE;
    r->in.at = r->scan.at;
    return FD_TIMELINE_END;
}

/* Get the next batch. A failure is counted as damage and ends the file. */
static void
fill_batch(fd_timeline_reader *r)
{
    fd_error why;
    fd_timeline_maker *maker = &r->maker;
    why.text[0] = '\0';
    fd_batch_reset(&r->batch);
    fd_status status = maker->fill(maker, &r->batch, &why);
    status = r->batch.status != FD_OK ? r->batch.status : status;
    r->in.read = maker->read;
    if (status == FD_ENOMEM) {
        r->status = status;
        return;
    }
    if (status != FD_OK) {
        r->lost += maker->lost > 0 ? maker->lost : 1;
        r->lost_bytes += maker->lost_bytes;
        snprintf(r->trouble, sizeof r->trouble, "%.127s", why.text);
    }
    if (status != FD_OK || r->batch.items.count == 0) {
        r->state = FD_TIMELINE_AT_END;
    }
}

static fd_timeline_item
next_made(fd_timeline_reader *r)
{
    fd_event_batch *batch = &r->batch;
    while (batch->next == batch->items.count && r->status == FD_OK
           && r->state != FD_TIMELINE_AT_END) {
        fill_batch(r);
    }
    if (batch->next == batch->items.count || r->status != FD_OK) {
        return FD_TIMELINE_END;
    }
    const fd_batch_item *item = &batch->items.list[batch->next++];
    r->begin++;
    r->key = item->key;
    r->value = item->value;
    r->event = item->event;
    r->event.offset = r->begin;
    return item->key.from != NULL ? FD_TIMELINE_MEMBER : FD_TIMELINE_EVENT;
}

/* Copy an event that has repairs, or escapes outside of its arguments, and scan
 * the copy, so that only the reader handles them. */
static void
settle_event(fd_timeline_reader *r)
{
    const char *from = r->value.from;
    const char *to = r->in.at;
    fd_span args = r->event.args;
    uint32_t size = (uint32_t)(fd_bytes_in_offset(&r->in, to) - r->begin);
    bool escapes = args.from == NULL ? has_backslash(from, to)
                                     : has_backslash(from, args.from)
                                           || has_backslash(args.to, to);
    if (r->repairs > 0 || escapes) {
        fd_scan scan = {.forgets = true};
        fd_span text = plain_text(r, (fd_span){from, to});
        fd_scan_begin(&scan, text.from, text.to);
        if (r->status == FD_OK
            && fd_chrome_scan(&scan, &r->event, &r->rest) == FD_SCAN_ENOMEM) {
            r->status = FD_ENOMEM;
        }
        if (r->repairs == 0 && args.from != NULL) {
            r->event.args = args;
        }
    }
    r->event.offset = r->begin;
    r->event.size = size;
    r->event.repairs = r->repairs;
}

fd_timeline_item
fd_timeline_reader_next(fd_timeline_reader *r)
{
    fd_timeline_item item = FD_TIMELINE_END;
    if (r->maker.fill != NULL) {
        return next_made(r);
    }
    while (item == FD_TIMELINE_END && r->status == FD_OK
           && r->state != FD_TIMELINE_AT_END) {
        switch (r->state) {
        case FD_TIMELINE_AT_START:
            start_file(r);
            break;
        case FD_TIMELINE_IN_OBJECT:
            item = read_member(r);
            break;
        case FD_TIMELINE_IN_EVENTS:
            item = read_event(r);
            break;
        case FD_TIMELINE_IN_DAMAGE:
            item = recover_event(r) ? FD_TIMELINE_EVENT : FD_TIMELINE_END;
            break;
        case FD_TIMELINE_AT_END:
            break;
        }
    }
    r->repairs = r->scan.repairs.count;
    if (item == FD_TIMELINE_EVENT) {
        settle_event(r);
    }
    return r->status == FD_OK ? item : FD_TIMELINE_END;
}
