#include "pipeline/planner/layer_graph_json.h"

#include "pipeline/planner/decimal_digits.h"
#include "json/json_scan.h"
#include "json/json_text.h"
#include "json/json_writer.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <string.h>

static const char schema[] = "fastdispatch-graph/";

typedef struct reading {
    fd_model *model;
    const char *where;
    const char *list; /* name of the list being read */
    unsigned at;      /* index in the list */
    fd_error *error;
} reading;

static fd_status
wrong_field(const reading *r, const char *field, const char *what)
{
    return fd_fail(r->error, FD_EFORMAT, "%s: %s[%u].%s: %s", r->where,
                   r->list, r->at, field, what);
}

static const cJSON *
object_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static fd_status
read_text(const reading *r, const cJSON *object, const char *name,
          uint32_t *text)
{
    const cJSON *value = object_member(object, name);
    if (!cJSON_IsString(value)) {
        return wrong_field(r, name, "a text");
    }
    *text = fd_model_keep(r->model, value->valuestring,
                          strlen(value->valuestring));
    return r->model->texts.status;
}

static fd_status
read_about(fd_model *model, const cJSON *object, uint32_t *text)
{
    const cJSON *value = object_member(object, "about");
    if (!cJSON_IsObject(value) || value->child == NULL) {
        return FD_OK;
    }
    char *json = cJSON_PrintUnformatted(value);
    if (json == NULL) {
        return FD_ENOMEM;
    }
    *text = fd_model_keep(model, json, strlen(json));
    cJSON_free(json);
    return model->texts.status;
}

static fd_status
read_number(const reading *r, const cJSON *object, const char *name,
            bool may_lack, double *value)
{
    const cJSON *found = object_member(object, name);
    if (may_lack && (found == NULL || cJSON_IsNull(found))) {
        return FD_OK;
    }
    if (!cJSON_IsNumber(found) || !(found->valuedouble >= 0)) {
        return wrong_field(r, name, "a non-negative number");
    }
    *value = found->valuedouble;
    return FD_OK;
}

static fd_status
read_outputs(const reading *r, const cJSON *object, fd_model_node *node)
{
    const cJSON *list = object_member(object, "output_bytes");
    const cJSON *item;
    if (!cJSON_IsArray(list)) {
        return wrong_field(r, "output_bytes", "a list of numbers");
    }
    node->first_output = r->model->sizes.count;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0)) {
            return wrong_field(r, "output_bytes", "non-negative numbers");
        }
        fd_status status = fd_vector_push(&r->model->sizes, item->valuedouble);
        if (status != FD_OK) {
            return status;
        }
        node->activation += item->valuedouble;
        node->outputs++;
    }
    return FD_OK;
}

static fd_status
read_numbers(const reading *r, const cJSON *object, fd_model_node *node)
{
    const struct {
        const char *name;
        bool may_lack;
        double *value;
    } fields[] = {
        {"forward_ms", false, &node->forward},
        {"backward_ms", false, &node->backward},
        {"parameter_bytes", false, &node->parameters},
        {"forward_spread_ms", true, &node->forward_spread},
        {"backward_spread_ms", true, &node->backward_spread},
        {"saved_bytes", true, &node->saved},
    };
    fd_status status = FD_OK;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && status == FD_OK;
         i++) {
        status = read_number(r, object, fields[i].name, fields[i].may_lack,
                             fields[i].value);
    }
    double stage = FD_NO_STAGE;
    fd_then(status, read_number(r, object, "stage", true, &stage));
    if (status == FD_OK && stage > FD_MODEL_NODES_MAX) {
        status = wrong_field(r, "stage", "too large");
    }
    if (status == FD_OK && stage > floor(stage)) {
        status = wrong_field(r, "stage", "a whole number");
    }
    node->stage = status == FD_OK ? (int32_t)stage : FD_NO_STAGE;
    return status;
}

static fd_status
read_node(const reading *r, const cJSON *object)
{
    fd_model_node node = {.stage = FD_NO_STAGE,
                          .forward_spread = FD_UNKNOWN,
                          .backward_spread = FD_UNKNOWN,
                          .saved = FD_UNKNOWN};
    fd_error inner = {""};
    fd_status status = read_text(r, object, "id", &node.id);
    fd_then(status, read_text(r, object, "name", &node.name));
    fd_then(status, read_about(r->model, object, &node.about));
    fd_then(status, read_outputs(r, object, &node));
    fd_then(status, read_numbers(r, object, &node));
    if (status == FD_OK) {
        status = fd_model_add(r->model, &node, &inner);
        if (status == FD_EINVAL) {
            status = fd_fail(r->error, FD_EFORMAT, "%s: nodes[%u]: %s",
                             r->where, r->at, inner.text);
        }
    }
    return status;
}

static fd_status
read_edge(const reading *r, const cJSON *edge)
{
    uint32_t found[2];
    for (int end = 0; end < 2; end++) {
        const cJSON *id = cJSON_GetArrayItem(edge, end);
        if (!cJSON_IsString(id) || cJSON_GetArraySize(edge) != 2) {
            return fd_fail(r->error, FD_EFORMAT,
                           "%s: edges[%u]: not a list of two ids", r->where,
                           r->at);
        }
        found[end] =
            fd_model_find(r->model, id->valuestring, strlen(id->valuestring));
        if (found[end] == r->model->nodes.count) {
            return fd_fail(r->error, FD_EFORMAT,
                           "%s: edges[%u]: an edge of an unknown node: "
                           "'%.60s'",
                           r->where, r->at, id->valuestring);
        }
    }
    return fd_vector_push(&r->model->edges,
                          (fd_model_edge){found[0], found[1]});
}

static fd_status
read_list(reading *r, const cJSON *document, const char *name,
          fd_status (*read)(const reading *r, const cJSON *item))
{
    const cJSON *list = object_member(document, name);
    const cJSON *item;
    fd_status status = FD_OK;
    if (!cJSON_IsArray(list)) {
        return fd_fail(r->error, FD_EFORMAT, "%s: %s: a list", r->where, name);
    }
    r->list = name;
    r->at = 0;
    cJSON_ArrayForEach(item, list)
    {
        status = read(r, item);
        if (status != FD_OK) {
            break;
        }
        r->at++;
    }
    return status;
}

static fd_status
read_document(reading *r, const cJSON *document)
{
    const cJSON *kind = object_member(document, "schema");
    size_t size = strlen(schema);
    if (!cJSON_IsString(kind)
        || strncmp(kind->valuestring, schema, size) != 0) {
        return fd_fail(r->error, FD_EFORMAT,
                       "%s: schema: not a graph of fastdispatch", r->where);
    }
    if (strcmp(kind->valuestring + size, "1") != 0) {
        return fd_fail(r->error, FD_EVERSION,
                       "%s: version %.20s of the graph, this fastdispatch "
                       "reads version 1: upgrade it",
                       r->where, kind->valuestring + size);
    }
    fd_error inner = {""};
    fd_status status = read_about(r->model, document, &r->model->about);
    fd_then(status, read_list(r, document, "nodes", read_node));
    fd_then(status, read_list(r, document, "edges", read_edge));
    if (status == FD_OK) {
        status = fd_model_close(r->model, &inner);
        if (status == FD_EINVAL) {
            status =
                fd_fail(r->error, FD_EFORMAT, "%s: %s", r->where, inner.text);
        }
    }
    return status;
}

/* Return whether a document is valid and has no escape that cJSON rejects. A
 * failure of cJSON is then a failed allocation: cJSON does not distinguish the
 * two. */
static bool
is_valid(const char *text, size_t size)
{
    fd_scan scan = {.at = NULL};
    fd_scan_begin(&scan, text, text + size);
    bool valid = fd_scan_value(&scan) == FD_SCAN_OK && scan.repairs.count == 0
              && memmem(text, size, "\\u", 2) == NULL;
    fd_scan_clear(&scan);
    return valid;
}

fd_status
fd_model_read_json(fd_model *model, const char *text, size_t size,
                   const char *where, fd_error *error)
{
    reading r = {.model = model, .where = where, .error = error};
    const char *end = NULL;
    cJSON *document = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (document == NULL && is_valid(text, size)) {
        return fd_fail(error, FD_ENOMEM, "%s: out of memory", where);
    }
    if (document == NULL) {
        return fd_fail(error, FD_EFORMAT, "%s: not valid JSON at byte %zu",
                       where, end != NULL ? (size_t)(end - text) : 0);
    }
    size_t rest = size - (size_t)(end - text);
    while (rest > 0 && strchr(" \t\r\n", *end) != NULL) {
        end++;
        rest--;
    }
    fd_status status = rest == 0
                         ? read_document(&r, document)
                         : fd_fail(error, FD_EFORMAT,
                                   "%s: more after the JSON, at byte %zu",
                                   where, (size_t)(end - text));
    cJSON_Delete(document);
    return status;
}

static void
write_text(const fd_model *model, const char *key, uint32_t id,
           fd_json_writer *w)
{
    fd_json_put_text(w, key, fd_model_text(model, id));
}

static void
write_number(const char *key, double value, fd_json_writer *w)
{
    fd_digits_write(fd_json_put(w, key), value);
}

static void
write_known(const char *key, double value, fd_json_writer *w)
{
    if (value >= 0) {
        write_number(key, value, w);
    }
}

static void
write_about(const fd_model *model, uint32_t about, fd_json_writer *w)
{
    if (about != 0) {
        fd_json_text(fd_json_put(w, "about"), fd_model_text(model, about));
    }
}

static void
write_node(const fd_model *model, const fd_model_node *node, fd_json_writer *w)
{
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    write_text(model, "id", node->id, w);
    write_text(model, "name", node->name, w);
    write_number("forward_ms", node->forward, w);
    write_number("backward_ms", node->backward, w);
    fd_json_begin_array(w, "output_bytes");
    for (uint32_t i = 0; i < node->outputs; i++) {
        write_number(NULL, model->sizes.list[node->first_output + i], w);
    }
    fd_json_end_array(w);
    write_number("parameter_bytes", node->parameters, w);
    write_known("forward_spread_ms", node->forward_spread, w);
    write_known("backward_spread_ms", node->backward_spread, w);
    write_known("saved_bytes", node->saved, w);
    if (node->stage != FD_NO_STAGE) {
        fd_json_put_i64(w, "stage", node->stage);
    }
    write_about(model, node->about, w);
    fd_json_end_object(w);
}

void
fd_model_write_json(const fd_model *model, fd_buffer *to)
{
    const fd_model_node *nodes = model->nodes.list;
    fd_json_writer w = {.to = to};
    fd_json_begin_object(&w, NULL);
    fd_buffer_format(fd_json_put(&w, "schema"), "\"%s1\"", schema);
    write_about(model, model->about, &w);
    fd_json_begin_array(&w, "nodes");
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        write_node(model, &nodes[i], &w);
    }
    fd_json_line(&w);
    fd_json_end_array(&w);
    fd_json_begin_array(&w, "edges");
    for (uint32_t i = 0; i < model->edges.count; i++) {
        const fd_model_edge *edge = &model->edges.list[i];
        fd_json_begin_array(&w, NULL);
        write_text(model, NULL, nodes[edge->from].id, &w);
        write_text(model, NULL, nodes[edge->to].id, &w);
        fd_json_end_array(&w);
    }
    fd_json_end_array(&w);
    fd_json_end_object(&w);
    fd_buffer_text(to, "\n");
}
