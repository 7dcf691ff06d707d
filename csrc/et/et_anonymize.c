#include "et/et_anonymize.h"

#include <stdio.h>
#include <string.h>

enum { BACKWARD = 1, USER = 7 }; /* at::RecordScope */

/* Return whether a group name is a number, as PyTorch assigns, or one of two
 * fixed names. */
static bool
is_common(const char *name)
{
    return strspn(name, "0123456789") == strlen(name)
        || strcmp(name, "default_pg") == 0 || strcmp(name, "undefined") == 0;
}

static fd_status
hide(const fd_et_anonymizer *anonymizer, fd_et *et, uint32_t *text)
{
    fd_buffer hidden = {.bytes = NULL};
    const char *name = fd_et_text(et, *text);
    size_t kept = fd_names_engine(name);
    if (*text == 0 || is_common(name)) {
        return FD_OK;
    }
    fd_buffer_bytes(&hidden, name, kept);
    fd_names_hide(anonymizer->key, &hidden, name + kept,
                  fd_text_pool_size(&et->texts, *text) - kept);
    return fd_text_pool_take(&et->texts, &hidden, text);
}

/* Hide a range name, except the part that PyTorch wrote. */
static fd_status
hide_range(fd_et_anonymizer *anonymizer, fd_et *et, uint32_t *text)
{
    const char *name = fd_et_text(et, *text);
    fd_range_name parts = fd_names_range(name);
    fd_buffer hidden = {.bytes = NULL};
    char owner[64]; /* longer than all known class names */
    snprintf(owner, sizeof owner, "%.*s", (int)parts.owner,
             name + parts.known);
    anonymizer->all =
        parts.known == 0 || (parts.owner > 0 && !fd_names_class(owner));
    if (parts.known == 0 || !anonymizer->all) {
        return anonymizer->all ? hide(anonymizer, et, text) : FD_OK;
    }
    fd_buffer_bytes(&hidden, name, parts.known);
    fd_names_hide(anonymizer->key, &hidden, name + parts.known, parts.owner);
    return fd_text_pool_take(&et->texts, &hidden, text);
}

/* Hide a schema, but keep which arguments the operator writes, for data
 * dependencies. */
static fd_status
hide_schema(fd_et *et, fd_et_node *node)
{
    fd_buffer hidden = {.bytes = NULL};
    bool mutates = strchr(fd_et_text(et, node->schema), '!') != NULL;
    if (node->schema == 0) {
        return FD_OK;
    }
    fd_buffer_text(&hidden, fd_et_text(et, node->name));
    fd_buffer_text(&hidden,
                   mutates ? "(Tensor(a!) _0, ...) -> ..." : "(...) -> ...");
    return fd_text_pool_take(&et->texts, &hidden, &node->schema);
}

fd_status
fd_et_hide_node(fd_et_anonymizer *anonymizer, fd_et *et, fd_et_node *node)
{
    const char *name = fd_et_text(et, node->name);
    anonymizer->all = false;
    if (node->scope == USER && !fd_names_operator(name)) {
        return hide_range(anonymizer, et, &node->name);
    }
    if (fd_names_operator(name)
        || (node->scope == BACKWARD && fd_names_autograd(name))) {
        return FD_OK;
    }
    anonymizer->all = true;
    fd_status status = hide(anonymizer, et, &node->name);
    return status == FD_OK ? hide_schema(et, node) : status;
}

static bool
is_of_group(const fd_et *et, const char *text, size_t size)
{
    for (uint32_t i = 0; i < et->groups.count; i++) {
        const uint32_t ids[] = {et->groups.list[i].name,
                                et->groups.list[i].about};
        for (int k = 0; k < 2; k++) {
            if (ids[k] != 0 && fd_text_pool_size(&et->texts, ids[k]) == size
                && memcmp(fd_et_text(et, ids[k]), text, size) == 0) {
                return !is_common(fd_et_text(et, ids[k]));
            }
        }
    }
    return false;
}

void
fd_et_put_private(const fd_et_anonymizer *anonymizer, fd_buffer *to,
                  const char *text, size_t size)
{
    if (anonymizer != NULL && size > 0
        && (anonymizer->all || is_of_group(anonymizer->et, text, size))) {
        fd_buffer_text(to, "\"");
        fd_names_hide(anonymizer->key, to, text, size);
        fd_buffer_text(to, "\"");
        return;
    }
    fd_buffer_json(to, text, size);
}

fd_status
fd_et_hide_head(const fd_et_anonymizer *anonymizer, fd_et *et)
{
    fd_status status = hide(anonymizer, et, &et->host);
    for (uint32_t i = 0; i < et->groups.count && status == FD_OK; i++) {
        status = hide(anonymizer, et, &et->groups.list[i].name);
        if (status == FD_OK) {
            status = hide(anonymizer, et, &et->groups.list[i].about);
        }
    }
    return status;
}
