#include "et/call_signatures.h"

#include "et/et_names.h"

#include <inttypes.h>
#include <string.h>

/* A trace, and for each of its texts the number in the diff + 1; 0: not
 * converted yet. */
typedef struct reading {
    fd_et_diff *diff;
    const fd_et *et;
    uint32_t *lists; /* owned */
    uint32_t *names; /* owned */
    fd_buffer text;  /* owned; the current text */
} reading;

static fd_status
keep(reading *r, uint32_t *id)
{
    return r->text.status != FD_OK
             ? r->text.status
             : fd_text_pool_add(&r->diff->texts,
                                r->text.size == 0 ? "" : r->text.bytes,
                                r->text.size, id);
}

/* Convert a list to a spelling that both traces share: Python prints lists
 * with spaces and single quotes, JSON does not. */
static fd_status
list_of(reading *r, uint32_t text, uint32_t *id)
{
    fd_status status = FD_OK;
    if (r->lists[text] == 0) {
        const char *at = fd_et_text(r->et, text);
        r->text.size = 0;
        for (; *at != '\0'; at++) {
            if (strchr(" \t\r\n", *at) == NULL) {
                fd_buffer_bytes(&r->text, *at == '\'' ? "\"" : at, 1);
            }
        }
        if (r->text.size == 0) {
            fd_buffer_text(&r->text, "[]");
        }
        status = keep(r, id);
        r->lists[text] = status == FD_OK ? *id + 1 : 0;
    }
    *id = r->lists[text] - (r->lists[text] != 0);
    return status;
}

static fd_status
name_of(reading *r, uint32_t text, uint32_t *id)
{
    static const char step[] = "ProfilerStep#";
    fd_status status = FD_OK;
    if (r->names[text] == 0) {
        const char *name = fd_et_text(r->et, text);
        r->text.size = 0;
        if (strncmp(name, step, sizeof step - 1) == 0) {
            fd_buffer_text(&r->text, step);
            fd_buffer_text(&r->text, "*");
        }
        else {
            fd_buffer_bytes(&r->text, name,
                            fd_text_pool_size(&r->et->texts, text));
        }
        status = keep(r, id);
        r->names[text] = status == FD_OK ? *id + 1 : 0;
    }
    *id = r->names[text] - (r->names[text] != 0);
    return status;
}

static fd_status
comm_of(reading *r, const fd_et_node *node, uint32_t *id)
{
    const fd_et_comm *comm = fd_et_comm_of(r->et, node);
    *id = 0;
    if (comm == NULL || node->type < FD_ET_SEND) {
        return FD_OK;
    }
    r->text.size = 0;
    bool other = node->type == FD_ET_COLL && comm->type < 0;
    fd_buffer_text(&r->text, other ? "OTHER" : fd_et_comm_name(node, comm));
    if (comm->bytes >= 0) {
        fd_buffer_format(&r->text, " %" PRId64 " bytes", comm->bytes);
    }
    if (comm->group != 0) {
        fd_buffer_format(&r->text, ", group %s",
                         fd_et_text(r->et, comm->group));
    }
    if (node->type != FD_ET_COLL && (comm->src >= 0 || comm->dst >= 0)) {
        fd_buffer_format(&r->text, ", %s rank %" PRId32,
                         node->type == FD_ET_SEND ? "to" : "from",
                         node->type == FD_ET_SEND ? comm->dst : comm->src);
    }
    return keep(r, id);
}

static fd_status
read_signature(reading *r, const fd_et_node *node, fd_et_signature *signature)
{
    const fd_et_io *io[] = {&node->in, &node->out};
    fd_status status = name_of(r, node->name, &signature->name);
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        status = list_of(r, io[i]->shapes, &signature->shapes[i]);
        if (status == FD_OK) {
            status = list_of(r, io[i]->types, &signature->types[i]);
        }
    }
    return status == FD_OK ? comm_of(r, node, &signature->comm) : status;
}

/* Find or add a signature. Keys and signatures are added together: text n is
 * signature n - 1. */
static fd_status
number_signature(fd_et_diff *diff, const fd_et_signature *signature,
                 uint32_t *number)
{
    fd_status status = fd_vector_reserve(&diff->signatures, 1);
    if (status == FD_OK) {
        status = fd_text_pool_add(&diff->keys, (const char *)signature,
                                  sizeof *signature, number);
    }
    if (status == FD_OK && *number > diff->signatures.count) {
        diff->signatures.list[diff->signatures.count++] = *signature;
    }
    return status;
}

fd_status
fd_et_find_signatures(fd_et_diff *diff, fd_et_match_side *side)
{
    const fd_et *et = side->et;
    size_t texts = (size_t)et->texts.texts.count + 1;
    reading r = {.diff = diff,
                 .et = et,
                 .lists = fd_calloc(texts, sizeof *r.lists),
                 .names = fd_calloc(texts, sizeof *r.names)};
    fd_status status = r.lists == NULL || r.names == NULL ? FD_ENOMEM : FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        fd_et_signature signature = {.name = 0};
        status = read_signature(&r, &et->nodes.list[i], &signature);
        if (status == FD_OK) {
            side->names[i] = signature.name;
            status = number_signature(diff, &signature, &side->signatures[i]);
        }
    }
    fd_buffer_clear(&r.text);
    fd_free(r.lists);
    fd_free(r.names);
    return status;
}
