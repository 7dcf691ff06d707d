#include "fuzz.h"

#include "pipeline/planner/layer_graph_json.h"
#include "pipeline/planner/layer_graph_text.h"
#include "pipeline/planner/planner.h"

#include <string.h>

/* A written graph is read and written as the same text. */
static void
read_again(const fd_model *model, bool json)
{
    fd_buffer text = {.bytes = NULL};
    fd_buffer other = {.bytes = NULL};
    fd_model again = {.about = 0};
    (json ? fd_model_write_json : fd_model_write_text)(model, &text);
    must(text.status == FD_OK);
    must((json ? fd_model_read_json : fd_model_read_text)(
             &again, text.bytes, text.size, "again", NULL)
         == FD_OK);
    must(again.nodes.count == model->nodes.count);
    must(again.edges.count == model->edges.count);
    (json ? fd_model_write_json : fd_model_write_text)(&again, &other);
    must(other.size == text.size
         && (text.size == 0
             || memcmp(other.bytes, text.bytes, text.size) == 0));
    fd_model_clear(&again);
    fd_buffer_clear(&text);
    fd_buffer_clear(&other);
}

/* A short search. */
static void
plan(const fd_model *model, uint32_t levels, uint32_t machines)
{
    fd_pipeline pipeline;
    fd_pipeline_request request = {.costs = {.levels = levels,
                                             .machines = {2, machines},
                                             .bandwidths = {1e9, 1e8},
                                             .ratio = 1,
                                             .straight = levels == 1,
                                             .fewer = true,
                                             .memory = FD_MEMORY_FLUSHED,
                                             .capacity = 1e12},
                                   .most_states = 64,
                                   .effort = 2000};
    fd_status status = fd_pipeline_find(&pipeline, model, &request, NULL);
    must(status == FD_OK || status == FD_EINVAL);
    if (status == FD_OK) {
        must(pipeline.best.bound <= pipeline.best.time);
    }
    fd_pipeline_clear(&pipeline);
}

static void
use(const fd_model *model, uint32_t machines)
{
    read_again(model, true);
    read_again(model, false);
    if (model->nodes.count <= 200) {
        plan(model, 1, machines);
        plan(model, 2, machines);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int json = 0; json < 2; json++) {
        fd_model model = {.about = 0};
        fd_error error = {""};
        char *copy = malloc(size + !size); /* no byte after the text */
        memcpy(copy, data, size);
        fd_status status = (json ? fd_model_read_json : fd_model_read_text)(
            &model, copy, size, "damaged", &error);
        must(status == FD_OK || status == FD_EINVAL || status == FD_EFORMAT
             || status == FD_EVERSION);
        must(status == FD_OK || error.text[0] != '\0');
        if (status == FD_OK) {
            use(&model, 1 + (uint32_t)size % 3);
        }
        fd_model_clear(&model);
        free(copy);
    }
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fd_buffer_text(
        to,
        "node1 -- Input0 -- forward_compute_time=0.0, backward_compute_time="
        "0.0, activation_size=0.0, parameter_size=0.0 -- stage_id=0\n"
        "node4 -- Embedding(32320, 1024) -- forward_compute_time=0.073, "
        "backward_compute_time=6.949, activation_size=6291456.0, "
        "parameter_size=132382720.000 -- stage_id=0\n"
        "node5 -- Linear(in_features=4, out_features=4) -- "
        "forward_compute_time=1e0, backward_compute_time=2.5, "
        "activation_size=[5.0; 6.0; 7.0], parameter_size=80.0\n"
        "node6 -- Add(inplace) -- forward_compute_time=3, "
        "backward_compute_time=3, activation_size=18, parameter_size=0\n"
        "\tnode1 -- node4\n\tnode4 -- node5\n\tnode5 -- node6\n"
        "\tnode4 -- node6\n");
    return to->status;
}
