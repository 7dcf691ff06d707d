#include "et/et_names.h"

#include <string.h>

uint8_t
fd_et_root(const char *name)
{
    static const char *const heads[] = {"[pytorch|profiler|execution_trace|",
                                        "[pytorch|profiler|execution_graph|"};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(heads[i]);
        if (strncmp(name, heads[i], size) == 0) {
            return strcmp(name + size, "thread]") == 0  ? FD_ET_THREAD
                 : strcmp(name + size, "process]") == 0 ? FD_ET_PROCESS
                                                        : 0;
        }
    }
    return 0;
}

static const char *
skip_space(const char *at, const char *end)
{
    while (at < end && fd_json_is_space(*at)) {
        at++;
    }
    return at;
}

/* Parse a number of at most 64 bits and the comma after it. */
static bool
take_number(const char **at, const char *end, uint64_t *number)
{
    const char *from = skip_space(*at, end);
    const char *to = from;
    while (to < end && *to >= '0' && *to <= '9') {
        to++;
    }
    *at = skip_space(to, end);
    bool comma = *at < end && **at == ',';
    *at += comma;
    return comma && fd_span_u64((fd_span){from, to}, number);
}

static const char *
skip_string(const char *at, const char *end)
{
    char quote = *at;
    for (at++; at < end && *at != quote; at++) {
        at += *at == '\\' && end - at > 1;
    }
    return at < end ? at + 1 : end;
}

/* Parse a tensor: its id, storage, offset, elements, bytes per element and a
 * text, "7,8,0,40,4,"cpu"]", with any white space between them. */
static bool
take_tensor(const char *at, const char *end, uint64_t *storage)
{
    enum { NUMBERS = 5, STORAGE = 1 };
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t number;
        if (!take_number(&at, end, &number)) {
            return false;
        }
        *storage = i == STORAGE ? number : *storage;
    }
    at = skip_space(at, end);
    return at < end && (*at == '"' || *at == '\'');
}

bool
fd_et_next_storage(fd_span *values, uint64_t *storage)
{
    while (values->from < values->to) {
        if (*values->from == '"' || *values->from == '\'') {
            values->from = skip_string(values->from, values->to);
        }
        else if (*values->from++ == '['
                 && take_tensor(values->from, values->to, storage)) {
            return true;
        }
    }
    return false;
}
