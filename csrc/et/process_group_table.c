#include "et/process_group_table.h"

#include "et/readers/chakra_fields.h"
#include "json/json_text.h"

#include <string.h>

static uint32_t
add_text(fd_et *et, fd_span object, const char *name)
{
    fd_span value;
    return fd_scan_find(object, name, &value)
             ? fd_et_add_json_text(et, fd_span_inside(value))
             : 0;
}

static bool
is_known(const fd_et *et, uint32_t name)
{
    for (uint32_t i = 0; i < et->groups.count; i++) {
        if (et->groups.list[i].name == name) {
            return true;
        }
    }
    return false;
}

static void
add_group(fd_et *et, fd_span object)
{
    fd_et_group group = {.name = add_text(et, object, "pg_name"),
                         .description = add_text(et, object, "pg_desc")};
    fd_span value;
    uint64_t size;
    if (fd_scan_find(object, "ranks", &value)) {
        group.ranks = fd_et_add_json(et, fd_span_inside(value));
    }
    if (fd_scan_find(object, "group_size", &value)
        || fd_scan_find(object, "pg_size", &value)) {
        group.size = fd_span_u64(value, &size) ? (uint32_t)size : 0;
    }
    if (fd_scan_find(object, "fd_address", &value)) {
        group.address = fd_span_u64(value, &size) ? size : 0;
    }
    if (group.name != 0 && !is_known(et, group.name)) {
        fd_arena_push(&et->arena, &et->groups, group);
    }
}

void
fd_et_add_groups(fd_et *et, fd_span list)
{
    fd_scan scan = {.at = list.from, .end = list.to, .forgets = true};
    fd_span each;
    bool first = true;
    if (fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return;
    }
    while (fd_scan_element(&scan, first, &each) == FD_SCAN_OK) {
        if (*each.from == '{') {
            add_group(et, each);
        }
        first = false;
    }
}

/* Add groups from a JSON value, or from a list with one text that contains
 * it. */
static void
add_from(fd_et *et, uint32_t values)
{
    const char *from = fd_et_text(et, values);
    const char *quote = strchr(from, '"');
    const char *end = strrchr(from, '"');
    if (end == quote) {
        return;
    }
    fd_buffer *text = fd_arena_buffer(&et->arena);
    fd_json_string((fd_span){quote + 1, end}, text);
    fd_arena_check(&et->arena, text->status);
    fd_et_add_groups(et, fd_span_of(text));
    fd_arena_drop(text);
}

void
fd_et_find_groups(fd_et *et)
{
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        const char *name = fd_et_text(et, node->name);
        if (strstr(name, "process_group:init") != NULL) {
            add_from(et, node->in.values);
        }
    }
}

/* Return the name of the group at this address of the recorded process; 0:
 * unknown. */
static uint32_t
group_at(const fd_et *et, uint64_t address)
{
    for (uint32_t i = 0; address != 0 && i < et->groups.count; i++) {
        if (et->groups.list[i].address == address) {
            return et->groups.list[i].name;
        }
    }
    return 0;
}

void
fd_et_give_group(fd_et *et, fd_et_node *node, fd_words taken)
{
    static const char head[] = "c10d::";
    fd_operand operand;
    fd_et_attr group = {.field = FD_CHAKRA_STRING};
    if (strncmp(fd_et_text(et, node->name), head, sizeof head - 1) != 0) {
        return;
    }
    while (group.text == 0 && fd_words_next(&taken, &operand)) {
        group.text = operand.kind == FD_OPERAND_OTHER
                       ? group_at(et, operand.more[0])
                       : 0;
    }
    if (group.text != 0) {
        group.name = fd_et_add_word(et, "pg_name");
        fd_et_add_attr(et, node, group);
    }
}
