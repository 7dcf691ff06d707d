#include "events/event_fields.h"

#include "json/decimal.h"

#include <string.h>

/* Longer keys mean nothing to us. */
enum { LONGEST_KEY = 4 };

static fd_span
text_of(fd_span value, bool *is_text)
{
    *is_text = *value.from == '"';
    return fd_span_inside(value);
}

static void
take_id2(fd_timeline_facts *facts, fd_span object)
{
    fd_span value;
    if (fd_scan_find(object, "local", &value)) {
        facts->id = value;
        facts->local = true;
    }
    else if (fd_scan_find(object, "global", &value)) {
        facts->id = value;
    }
}

static void
take(fd_timeline_facts *facts, fd_span key, fd_span value)
{
    bool is_text;
    if (fd_span_is(key, "ph")) {
        fd_span inside = fd_span_inside(value);
        facts->phase = fd_span_size(inside) == 1 ? *inside.from : 0;
    }
    else if (fd_span_is(key, "ts")) {
        facts->ts = value;
    }
    else if (fd_span_is(key, "id")) {
        facts->id = value;
    }
    else if (fd_span_is(key, "bp")) {
        facts->to_next = !fd_span_is(value, "\"e\"");
    }
    else if (fd_span_is(key, "pid")) {
        facts->pid = value;
    }
    else if (fd_span_is(key, "tid")) {
        facts->tid = value;
    }
    else if (fd_span_is(key, "cat")) {
        facts->cat = text_of(value, &is_text);
    }
    else if (fd_span_is(key, "dur")) {
        facts->dur = value;
    }
    else if (fd_span_is(key, "id2")) {
        take_id2(facts, value);
    }
    else if (fd_span_is(key, "name")) {
        facts->name = text_of(value, &facts->named);
    }
    else if (fd_span_is(key, "args")) {
        facts->args = value;
    }
}

void
fd_timeline_facts_read(fd_timeline_facts *facts,
                       const fd_timeline_event *event)
{
    fd_scan scan = {
        .at = event->whole.from, .end = event->whole.to, .forgets = true};
    fd_span key;
    bool first = true;
    *facts = (fd_timeline_facts){.to_next = true};
    fd_scan_result result = fd_scan_mark(&scan, '{');
    while (result == FD_SCAN_OK
           && (result = fd_scan_member(&scan, first, &key)) == FD_SCAN_OK) {
        const char *from = scan.at;
        result = fd_scan_value(&scan);
        if (fd_span_size(key) <= LONGEST_KEY) {
            take(facts, key, (fd_span){from, scan.at});
        }
        first = false;
    }
    facts->has_start = facts->ts.from != NULL
                    && fd_decimal_ns(fd_span_inside(facts->ts), &facts->start);
    facts->has_duration =
        facts->dur.from != NULL
        && fd_decimal_ns(fd_span_inside(facts->dur), &facts->duration);
}

bool
fd_timeline_argument(const fd_timeline_facts *facts, const char *name,
                     uint64_t *number)
{
    fd_span value;
    return facts->args.from != NULL && fd_scan_find(facts->args, name, &value)
        && fd_span_u64(fd_span_inside(value), number);
}

bool
fd_span_numbered(fd_span text, const char *prefix, const char *ends,
                 uint64_t *number)
{
    size_t size = strlen(prefix);
    if (fd_span_size(text) <= size || memcmp(text.from, prefix, size) != 0) {
        return false;
    }
    fd_span digits = {text.from + size, text.from + size};
    while (digits.to < text.to && *digits.to >= '0' && *digits.to <= '9') {
        digits.to++;
    }
    return fd_span_u64(digits, number)
        && (digits.to == text.to || strchr(ends, *digits.to) != NULL);
}
