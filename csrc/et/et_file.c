#include "et/et_file.h"

#include "base/budget.h"
#include "et/et_steps.h"
#include "et/process_group_table.h"
#include "et/readers/et_readers.h"

#include <stdio.h>
#include <string.h>

/* Number of bytes that is sufficient to detect the format of a file. */
enum { HEAD = 1 << 16 };

const char *const fd_et_format_names[] = {"PyTorch execution trace",
                                          "Chakra execution trace",
                                          "Kineto trace", "unknown", NULL};

/* Return the format of the first key that only one format has, or
 * FD_ET_UNKNOWN if no such key was found yet. */
static fd_et_format
find_key(const fd_bytes_in *in)
{
    static const struct {
        const char *text;
        fd_et_format format;
    } keys[] = {{"\"nodes\"", FD_ET_PYTORCH},
                {"\"traceEvents\"", FD_ET_KINETO}};
    fd_et_format format = FD_ET_UNKNOWN;
    const char *end = in->end;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *found = memmem(in->at, (size_t)(end - in->at),
                                   keys[i].text, strlen(keys[i].text));
        format = found != NULL ? keys[i].format : format;
        end = found != NULL ? found : end;
    }
    return format;
}

/* Skip a byte-order mark and white space. */
static void
skip_mark(fd_bytes_in *in)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (in->end - in->at >= 3 && memcmp(in->at, mark, 3) == 0) {
        in->at += 3;
    }
    while (in->at < in->end && *in->at != '\0'
           && strchr(" \r\n\t", *in->at) != NULL) {
        in->at++;
    }
}

static fd_et_format
sniff_format(fd_bytes_in *in)
{
    size_t most = fd_budget(HEAD);
    while ((size_t)(in->end - in->at) < most && fd_bytes_in_more(in)) {
    }
    /* A length of 123 looks like "{": check the message after it. */
    if (fd_et_is_chakra(in->at, (size_t)(in->end - in->at))) {
        return FD_ET_CHAKRA;
    }
    skip_mark(in);
    if (in->at == in->end || *in->at != '{') {
        return FD_ET_UNKNOWN;
    }
    fd_et_format format = find_key(in);
    while (format == FD_ET_UNKNOWN && fd_bytes_in_more(in)) {
        format = find_key(in);
    }
    return format == FD_ET_UNKNOWN ? FD_ET_PYTORCH : format;
}

void
fd_et_note_damage(fd_et *et, const fd_bytes_in *in, const char *at,
                  const char *what)
{
    if (et->faults.lost++ == 0) {
        snprintf(et->faults.trouble, sizeof et->faults.trouble,
                 "%s at byte %llu", what,
                 (unsigned long long)fd_bytes_in_offset(in, at));
    }
}

static _Noreturn void
refuse_file(fd_et *et, const char *path, const char *why)
{
    fd_arena_fail(&et->arena, fd_fail(et->arena.error, FD_EFORMAT, "%s: %s%s",
                                      path, why, et->faults.trouble));
}

static void
close_input(void *in)
{
    fd_bytes_in_close(in);
}

static void
read_file(fd_et *et, const char *path)
{
    fd_bytes_in *in = fd_arena_owned(&et->arena, sizeof *in, close_input);
    fd_arena_check(&et->arena, fd_bytes_in_open(in, path, et->arena.error));
    et->format = sniff_format(in);
    fd_arena_check(&et->arena, in->status);
    if (et->format == FD_ET_UNKNOWN) {
        refuse_file(et, path,
                    in->at == in->end
                        ? "empty"
                        : "not an execution trace: neither PyTorch's JSON nor "
                          "Chakra's .et");
    }
    if (et->format == FD_ET_CHAKRA) {
        fd_et_read_chakra(et, in);
    }
    if (et->format == FD_ET_PYTORCH) {
        fd_et_read_pytorch(et, in, path);
    }
    fd_arena_drop(in);
    if (et->nodes.count == 0 && et->faults.lost > 0) {
        refuse_file(et, path, "no node can be read: ");
    }
    fd_et_finish(et);
    fd_et_find_groups(et);
}

fd_status
fd_et_open(fd_et *et, const char *path, fd_error *error)
{
    *et = (fd_et){.rank = -1};
    if (fd_arena_caught(&et->arena, error)) {
        return et->arena.status;
    }
    read_file(et, path);
    return fd_arena_left(&et->arena);
}

fd_status
fd_et_complete(fd_et *et, uint32_t kinds)
{
    if (fd_arena_caught(&et->arena, NULL)) {
        return et->arena.status;
    }
    fd_et_fill_times(et);
    fd_et_find_edges(et, kinds);
    fd_et_arrange(et);
    return fd_arena_left(&et->arena);
}
