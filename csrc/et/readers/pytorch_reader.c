#include "et/readers/et_readers.h"

#include "et/node_fields.h"

#include <string.h>

typedef struct reading {
    fd_et *et;
    fd_bytes_in *in;
    fd_scan *scan;
    fd_span key;
    fd_span value;
    bool first;
    bool comma;       /* a comma was read before `node` */
    const char *node; /* begin of the last node, or end of the list */
    bool any;         /* a list of nodes was found */
} reading;

typedef fd_scan_result step(reading *r);

/* Run a step on the text in memory; if the text ends first, read more and
 * repeat. */
static fd_scan_result
attempt_step(reading *r, step *take)
{
    fd_scan_result result;
    bool more;
    do {
        fd_scan_begin(r->scan, r->in->at, r->in->end);
        result = take(r);
        size_t ahead = (size_t)(r->scan->at - r->in->at);
        more = result == FD_SCAN_CUT && fd_bytes_in_more(r->in);
        r->scan->at = r->in->at + ahead;
    } while (more);
    fd_arena_check(&r->et->arena, r->in->status);
    fd_arena_check(&r->et->arena,
                   result == FD_SCAN_ENOMEM ? FD_ENOMEM : FD_OK);
    if (result == FD_SCAN_OK || result == FD_SCAN_DONE) {
        r->in->at = r->scan->at;
    }
    return result;
}

static fd_scan_result
start_step(reading *r)
{
    return fd_scan_mark(r->scan, '{');
}

/* Read a member; at the start of the nodes, `value` is not set. */
static fd_scan_result
member_step(reading *r)
{
    fd_scan *scan = r->scan;
    fd_scan_result result = fd_scan_member(scan, r->first, &r->key);
    if (result != FD_SCAN_OK) {
        return result;
    }
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    r->value = (fd_span){NULL, NULL};
    if (fd_span_is(r->key, "nodes") && *scan->at == '[') {
        scan->at++;
        return FD_SCAN_OK;
    }
    const char *from = scan->at;
    result = fd_scan_value(scan);
    r->value = (fd_span){from, scan->at};
    return result;
}

static fd_scan_result
node_step(reading *r)
{
    fd_scan *scan = r->scan;
    fd_scan_space(scan);
    r->comma = scan->at < scan->end && *scan->at == ',';
    if (!r->first && r->comma) {
        scan->at++;
        fd_scan_space(scan);
    }
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    r->node = scan->at;
    if (*scan->at == ']') {
        scan->at++;
        return FD_SCAN_DONE;
    }
    return fd_et_scan_node(scan, r->et);
}

/* Find text after the end; CUT: only white space follows. */
static fd_scan_result
tail_step(reading *r)
{
    fd_scan_space(r->scan);
    r->in->at = r->scan->at;
    return r->scan->at == r->scan->end ? FD_SCAN_CUT : FD_SCAN_OK;
}

static void
take_member(reading *r)
{
    fd_et *et = r->et;
    int64_t number;
    size_t at = fd_et_field_at(fd_et_head_fields, FD_ET_JSON_FIELDS, r->key);
    const fd_column *column = &fd_et_head_fields[at].column;
    if (at == FD_ET_JSON_FIELDS) {
        return;
    }
    if (column->type == FD_COLUMN_TEXT) {
        fd_cell_set(column, et, fd_et_take_text(et, r->scan, r->value));
        return;
    }
    bool good = fd_et_take_number(et, r->value, &number);
    if (good) {
        fd_cell_set(column, et, (uint64_t)number);
    }
    et->finished = at == FD_ET_FINISH_FIELD ? good : et->finished;
}

static void
note_damage(reading *r, fd_scan_result result, const char *at)
{
    fd_et_note_damage(r->et, r->in, at,
                      result != FD_SCAN_CUT    ? "not JSON"
                      : r->in->trouble != NULL ? r->in->trouble
                      : r->in->ended           ? "cut short"
                                               : "a value of more than 16 MB");
}

/* Skip damaged text up to "{" and an id; return false if no id follows. */
static bool
skip_damage(reading *r)
{
    bool found = false;
    while (r->in->at < r->in->end
           && (fd_json_is_space(*r->in->at) || *r->in->at == ',')) {
        r->in->at++;
    }
    uint64_t from = fd_bytes_in_offset(r->in, r->in->at);
    r->in->at += r->in->at < r->in->end;
    static const char *const begin = "\"id\"";
    while (!found) {
        if (!fd_bytes_in_find(r->in, &begin, 1)) {
            break;
        }
        const char *id = memmem(r->in->at, (size_t)(r->in->end - r->in->at),
                                begin, strlen(begin));
        const char *at = id;
        while (at > r->in->window && fd_json_is_space(at[-1])) {
            at--;
        }
        found = at > r->in->window && at[-1] == '{'
             && fd_bytes_in_offset(r->in, at - 1) > from;
        r->in->at = found ? at - 1 : id + 1;
    }
    if (!found) {
        do {
            r->in->at = r->in->end;
        } while (fd_bytes_in_more(r->in));
    }
    r->et->faults.lost_bytes += fd_bytes_in_offset(r->in, r->in->at) - from;
    return found;
}

/* Read nodes up to the end of the list or of the file. */
static void
read_nodes(reading *r)
{
    r->any = true;
    r->first = true;
    for (;;) {
        fd_scan_result result = attempt_step(r, node_step);
        bool done = result == FD_SCAN_DONE;
        if ((done || result == FD_SCAN_OK)
            && r->comma != (!done && !r->first)) {
            note_damage(r, FD_SCAN_BAD, r->node); /* a comma too few or many */
        }
        r->first = false;
        if (done) {
            return;
        }
        if (result != FD_SCAN_OK) {
            note_damage(r, result, r->scan->at);
            if (!skip_damage(r)) {
                return;
            }
            r->first = true;
        }
    }
}

/* Go on at the list of nodes after damage in front of it. */
static bool
skip_to_nodes(reading *r)
{
    static const char *const nodes = "\"nodes\"";
    uint64_t from = fd_bytes_in_offset(r->in, r->in->at);
    r->in->at = r->scan->at;
    if (!fd_bytes_in_find(r->in, &nodes, 1)) {
        return false;
    }
    r->in->at = memmem(r->in->at, (size_t)(r->in->end - r->in->at), nodes,
                       strlen(nodes));
    r->et->faults.lost_bytes += fd_bytes_in_offset(r->in, r->in->at) - from;
    r->first = true;
    return true;
}

static void
read_members(reading *r)
{
    r->first = true;
    while (r->in->at < r->in->end || !r->in->ended) {
        fd_scan_result result = attempt_step(r, member_step);
        if (result == FD_SCAN_DONE) {
            result = attempt_step(r, tail_step);
            if (result == FD_SCAN_OK) {
                note_damage(r, FD_SCAN_BAD, r->scan->at);
            }
            return;
        }
        if (result != FD_SCAN_OK) {
            note_damage(r, result, r->scan->at);
            if (r->any || !skip_to_nodes(r)) {
                return;
            }
            continue;
        }
        r->first = false;
        fd_et_count_repairs(r->et, r->scan);
        (r->value.from == NULL ? read_nodes : take_member)(r);
    }
}

static void
clear_scan(void *scan)
{
    fd_scan_clear(scan);
}

void
fd_et_read_pytorch(fd_et *et, fd_bytes_in *in, const char *path)
{
    reading r = {.et = et,
                 .in = in,
                 .scan =
                     fd_arena_owned(&et->arena, sizeof *r.scan, clear_scan)};
    if (attempt_step(&r, start_step) == FD_SCAN_OK) {
        read_members(&r);
    }
    fd_arena_check(&et->arena, in->status);
    fd_arena_drop(r.scan);
    if (!r.any) {
        fd_arena_fail(&et->arena,
                      fd_fail(et->arena.error, FD_EFORMAT,
                              "%s: not an execution trace: %s", path,
                              et->faults.lost > 0 ? et->faults.trouble
                                                  : "it has no \"nodes\""));
    }
}
