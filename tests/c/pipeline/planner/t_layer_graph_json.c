#include "models.h"

#include "pipeline/planner/layer_graph_json.h"

#include <string.h>

static const char document[] =
    "{\"schema\":\"fastdispatch-graph/1\",\"about\":{\"steps\":5},"
    "\"nodes\":[\n"
    "{\"id\":\"a\",\"name\":\"Two\\nlines\",\"forward_ms\":0.1,"
    "\"backward_ms\":2.0,\"output_bytes\":[4.0,8.0],"
    "\"parameter_bytes\":16.0,\"forward_spread_ms\":0.5,"
    "\"backward_spread_ms\":0.0,\"saved_bytes\":32.0,\"stage\":1,"
    "\"about\":{\"dtype\":\"bf16\"}},\n"
    "{\"id\":\"b\",\"name\":\"ReLU()\",\"forward_ms\":0.0,"
    "\"backward_ms\":0.0,\"output_bytes\":[],\"parameter_bytes\":0.0}\n"
    "],\"edges\":[[\"a\",\"b\"]]}\n";

static fd_status
read(fd_model *model, const char *text, fd_error *error)
{
    return fd_model_read_json(model, text, strlen(text), "g.json", error);
}

static void
round_trip(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(read(&model, document, NULL));
    EQUAL(model.nodes.list[0].activation, 12);
    EQUAL(model.nodes.list[1].stage, FD_NO_STAGE);
    fd_model_write_json(&model, &text);
    WRITTEN(&text, document);
}

#define HEAD "{\"schema\":\"fastdispatch-graph/1\","
#define NAMED "\"id\":\"a\",\"name\":\"b\","
#define TIMED "\"forward_ms\":1,\"backward_ms\":1,\"parameter_bytes\":1"

static void
invalid_documents(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{", "g.json: not valid JSON at byte 0"},
        {"{} x", "g.json: more after the JSON, at byte 3"},
        {"{}", "g.json: schema: not a graph of fastdispatch"},
        {HEAD "\"nodes\":3}", "g.json: nodes: a list"},
        {HEAD "\"nodes\":[]}", "g.json: edges: a list"},
        {HEAD "\"nodes\":[{}]}", "g.json: nodes[0].id: a text"},
        {HEAD "\"nodes\":[{" NAMED TIMED "}]}",
         "g.json: nodes[0].output_bytes: a list of numbers"},
        {HEAD "\"nodes\":[{" NAMED TIMED ",\"output_bytes\":[-1]}]}",
         "g.json: nodes[0].output_bytes: non-negative numbers"},
        {HEAD "\"nodes\":[{" NAMED "\"output_bytes\":[]}]}",
         "g.json: nodes[0].forward_ms: a non-negative number"},
        {HEAD "\"nodes\":[{" NAMED TIMED
              ",\"output_bytes\":[],\"stage\":9999999}]}",
         "g.json: nodes[0].stage: too large"},
        {HEAD "\"nodes\":[{" NAMED TIMED
              ",\"output_bytes\":[],\"stage\":0.5}]}",
         "g.json: nodes[0].stage: a whole number"},
        {HEAD "\"nodes\":[{" NAMED TIMED
              ",\"output_bytes\":[],\"saved_bytes\":1e999}]}",
         "g.json: nodes[0]: node 'a': saved is inf: not a finite "
         "non-negative number"},
        {HEAD "\"nodes\":[],\"edges\":[[\"a\",\"b\"]]}",
         "g.json: edges[0]: an edge of an unknown node: 'a'"},
        {HEAD "\"nodes\":[],\"edges\":[3]}",
         "g.json: edges[0]: not a list of two ids"},
        {HEAD "\"nodes\":[{" NAMED TIMED
              ",\"output_bytes\":[]}],\"edges\":[[\"a\",\"a\"]]}",
         "g.json: a cycle: a needs a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_model_clear) fd_model model = {.about = 0};
        fd_error error = {""};
        STATUS(read(&model, cases[i].text, &error), FD_EFORMAT);
        SAME(error.text, cases[i].message);
    }
}

static void
newer_versions(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    fd_error error = {""};
    STATUS(read(&model, "{\"schema\":\"fastdispatch-graph/2\"}", &error),
           FD_EVERSION);
    SAME(error.text, "g.json: version 2 of the graph, this fastdispatch reads "
                     "version 1: upgrade it");
}

RUN(TEST(round_trip), TEST(invalid_documents), TEST(newer_versions))
