#include "et/process_group_table.h"

#include "et/readers/chakra_fields.h"
#include "json/json_text.h"

#include <string.h>

static fd_status
add_text(fd_et *et, fd_span object, const char *name, uint32_t *text)
{
    fd_span value;
    *text = 0;
    return fd_scan_find(object, name, &value)
             ? fd_et_add_json_text(et, fd_span_inside(value), text)
             : FD_OK;
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

static fd_status
add_group(fd_et *et, fd_span object)
{
    fd_et_group group = {.size = 0};
    fd_span value;
    uint64_t size;
    fd_status status = add_text(et, object, "pg_name", &group.name);
    fd_then(status, add_text(et, object, "pg_desc", &group.about));
    if (status == FD_OK && fd_scan_find(object, "ranks", &value)) {
        status = fd_et_add_json(et, fd_span_inside(value), &group.ranks);
    }
    if (fd_scan_find(object, "group_size", &value)
        || fd_scan_find(object, "pg_size", &value)) {
        group.size = fd_span_u64(value, &size) ? (uint32_t)size : 0;
    }
    if (fd_scan_find(object, "fd_address", &value)) {
        group.address = fd_span_u64(value, &size) ? size : 0;
    }
    if (status != FD_OK || group.name == 0 || is_known(et, group.name)) {
        return status;
    }
    return fd_vector_push(&et->groups, group);
}

fd_status
fd_et_add_groups(fd_et *et, fd_span list)
{
    fd_scan scan = {.at = list.from, .end = list.to, .forgets = true};
    fd_span each;
    fd_status status = FD_OK;
    bool open = fd_scan_mark(&scan, '[') == FD_SCAN_OK;
    for (bool first = true;
         open && status == FD_OK
         && fd_scan_element(&scan, first, &each) == FD_SCAN_OK;
         first = false) {
        status = *each.from == '{' ? add_group(et, each) : FD_OK;
    }
    return status;
}

/* Add groups from a JSON value, or from a list with one text that contains
 * it. */
static fd_status
add_from(fd_et *et, uint32_t values)
{
    fd_buffer text = {.bytes = NULL};
    const char *from = fd_et_text(et, values);
    const char *quote = strchr(from, '"');
    const char *end = from + strlen(from);
    while (end > from && end[-1] != '"') {
        end--;
    }
    if (quote == NULL || end <= quote + 1) {
        return FD_OK;
    }
    fd_json_string((fd_span){quote + 1, end - 1}, &text);
    fd_status status = text.status;
    if (status == FD_OK && text.size > 0) {
        status = fd_et_add_groups(et, fd_span_of(&text));
    }
    fd_buffer_clear(&text);
    return status;
}

fd_status
fd_et_find_groups(fd_et *et)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        const char *name = fd_et_text(et, node->name);
        if (strstr(name, "process_group:init") != NULL) {
            status = add_from(et, node->in.values);
        }
    }
    return status;
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

fd_status
fd_et_give_group(fd_et *et, fd_et_node *node, fd_words taken)
{
    static const char head[] = "c10d::";
    fd_operand operand;
    fd_et_attr group = {.field = FD_CHAKRA_STRING};
    if (strncmp(fd_et_text(et, node->name), head, sizeof head - 1) != 0) {
        return FD_OK;
    }
    while (group.text == 0 && fd_words_next(&taken, &operand)) {
        group.text = operand.kind == FD_OPERAND_OTHER
                       ? group_at(et, operand.more[0])
                       : 0;
    }
    if (group.text == 0) {
        return FD_OK;
    }
    fd_status status =
        fd_text_pool_add_clean(&et->texts, "pg_name", 7, &group.name);
    return fd_then(status, fd_et_add_attr(et, node, group));
}
