#include "fuzz.h"
#include "traces.h"

#include "base/hash.h"
#include "et/estimate.h"
#include "et/link.h"
#include "et/order.h"

#include <stdlib.h>

static void
must(bool held)
{
    if (!held) {
        abort();
    }
}

/* What everything that reads a trace relies on. */
static void
sound(const fd_et *et)
{
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        must(node->parent <= et->nodes.count && node->comm <= et->comms.count);
        must(i == 0 || et->nodes.list[i - 1].id < node->id);
    }
    for (uint32_t i = 0; i < et->edges.count; i++) {
        const fd_et_edge *edge = &et->edges.list[i];
        must(edge->from < edge->to && edge->to < et->nodes.count);
    }
}

/* Played alone, and with itself as another rank. */
static void
play(const fd_et *et)
{
    static const fd_et_scale scale = {"aten::linear", 0.5};
    fd_et_changes changes = {&scale, 1, 2, 5000};
    fd_et both[2] = {*et, *et};
    fd_et_ranks ranks = {.collectives = 0};
    fd_et_estimate estimate = {.matched = 0};
    both[1].rank = et->rank + 1;
    for (uint32_t i = 0; i < 2; i++) {
        must(fd_et_ranks_add(&ranks, &both[i]) == FD_OK);
    }
    must(fd_et_ranks_compare(&ranks) == FD_OK);
    fd_status status = fd_et_estimate_make(both, 2, &ranks, &changes,
                                           &estimate, NULL);
    must(status == FD_OK || status == FD_EINVAL);
    fd_et_estimate_clear(&estimate);
    fd_et_ranks_clear(&ranks);
}

/* Written in each form and read again it has as many nodes; and as many edges
 * where the form holds them. */
static void
use(const fd_et *et)
{
    static const char *const names[] = {"a.et", "a.json"};
    play(et);
    for (int i = 0; i < 2; i++) {
        fd_et again;
        fd_et_format format;
        must(fd_et_save(et, names[i], false, NULL) == FD_OK);
        must(fd_et_load(&again, names[i], FD_ET_ALL_KINDS, &format, NULL)
             == FD_OK);
        sound(&again);
        must(again.faults.lost == 0 && again.nodes.count == et->nodes.count);
        must(i == 1 || again.edges.count == et->edges.count);
        fd_et_clear(&again);
    }
    fd_status status = fd_et_save(et, "t.json", true, NULL);
    must(status == FD_OK || status == FD_EINVAL);
}

/* A .et of ours with a few bytes changed: which, the input decides. */
static void
use_chakra(uint64_t state)
{
    fd_et et;
    fd_et_format format;
    fd_buffer file = {.bytes = NULL};
    must(traces_loaded(&et) == FD_OK);
    must(fd_et_save(&et, "b.et", false, NULL) == FD_OK);
    fd_et_clear(&et);
    must(fixture_read("b.et", &file) == FD_OK);
    for (int i = 0; i < 4; i++) {
        state = fd_hash_next(state, (uint64_t)i);
        file.bytes[state % file.size] ^= (char)(1 << (state >> 40) % 8);
    }
    must(fixture_write("b.et", file.bytes, file.size - state % 50) == FD_OK);
    fd_buffer_clear(&file);
    fd_status status = fd_et_load(&et, "b.et", FD_ET_ALL_KINDS, &format, NULL);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK) {
        sound(&et);
        use(&et);
    }
    fd_et_clear(&et);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_et et;
    fd_et_format format;
    fd_et_link link;
    fd_kineto kineto;
    must(fixture_write("damaged", data, size) == FD_OK);
    fd_status status = fd_et_load(&et, "damaged", FD_ET_ALL_KINDS, &format,
                                  NULL);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK) {
        sound(&et);
        use(&et);
    }
    fd_et_clear(&et);
    status = fd_et_link_files(&et, "damaged", "damaged", FD_ET_ALL_KINDS,
                              &link, &kineto, NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EINVAL);
    if (status == FD_OK) {
        sound(&et);
        play(&et);
    }
    fd_kineto_clear(&kineto);
    fd_et_clear(&et);
    use_chakra(fd_hash_bytes(data, size) | 1);
    return 0;
}

/* Both kinds of files in one: nodes, and events with the same numbers. */
fd_status
fuzz_seed(fd_buffer *to)
{
    traces_small(to);
    while (to->size > 0 && to->bytes[to->size - 1] != '}') {
        to->size--;
    }
    to->size -= to->size > 0;
    fd_buffer_text(
        to,
        ",\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"
        "\"aten::linear\",\"tid\":5,\"ts\":10,\"dur\":20.5,\"args\":{\"Record "
        "function id\":104,\"External id\":1}},{\"ph\":\"X\",\"cat\":\"cpu_op\""
        ",\"name\":\"aten::relu_\",\"tid\":5,\"ts\":40,\"dur\":20,\"args\":"
        "{\"Record function id\":106}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\","
        "\"name\":\"cudaLaunchKernel\",\"tid\":5,\"ts\":12,\"dur\":2,\"args\":"
        "{\"correlation\":1}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
        "\"ncclDevKernel_AllReduce\",\"ts\":20,\"dur\":4,\"args\":{\"stream\":"
        "7,\"correlation\":1,\"dtype\":\"Float\",\"In msg nelems\":9,\"Process"
        " Group Name\":\"0\"}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
        "\"cudaStreamSynchronize\",\"tid\":5,\"ts\":30,\"dur\":2,\"args\":"
        "{\"correlation\":2}},{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":"
        "\"Stream Wait Event\",\"ts\":30,\"args\":{\"stream\":7,\"correlation\""
        ":0,\"wait_on_stream\":8,"
        "\"wait_on_cuda_event_record_corr_id\":1}}]}");
    return to->status;
}
