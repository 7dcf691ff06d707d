#include "capture/rules/job_rules.h"

#include "base/alloc.h"
#include "capture/process/process.h"
#include "capture/python/utf8_text.h"
#include "recording/recording_format.h"

#include <string.h>

#define DEEPSPEED "deepspeed/runtime/pipe/engine.py"
#define STAGE "torch/distributed/pipelining/stage.py"
#define SCHEDULES "torch/distributed/pipelining/schedules.py"
#define MEGATRON "megatron/core/pipeline_parallel/schedules.py"
#define P2P "megatron/core/pipeline_parallel/p2p_communication.py"
#define COMBINED "megatron/core/pipeline_parallel/combined_1f1b.py"
#define BETWEEN_STAGES "deepspeed/runtime/pipe/p2p.py"
#define COLLECTIVES "torch/distributed/distributed_c10d.py"

/* An instruction of DeepSpeed. It has no argument for the micro-batch: the
 * k-th instruction of a kind belongs to micro-batch k. */
#define INSTRUCTION(name, kind) \
    { \
        DEEPSPEED, "PipelineEngine._exec_" name, kind, \
            .engine = FD_ENGINE_DEEPSPEED, .micro_batch = "count", \
            .stage = "attr:stage_id", .buffer = "arg:buffer_id" \
    }

/* An instruction at the end of a DeepSpeed batch, without a micro-batch. */
#define AT_THE_END(name, kind) \
    { \
        DEEPSPEED, "PipelineEngine._exec_" name, kind, \
            .engine = FD_ENGINE_DEEPSPEED, .stage = "attr:stage_id" \
    }

#define OF_STAGE(name, kind, ...) \
    { \
        STAGE, "_PipelineStageBase." name, kind, .engine = FD_ENGINE_TORCH, \
                                                 .stage = "attr:stage_index", \
                                                 __VA_ARGS__ \
    }

#define BATCH_OF(class_name, stages, processes) \
    { \
        SCHEDULES, class_name ".step", "ITER", FD_ROLE_ITERATION, \
            FD_ENGINE_TORCH, .micro_batch = "attr:_n_microbatches", \
                             .stage = stages, .chunk = processes, \
                             .plan = "arg:self", \
                             .eval = "!attr:_has_backward" \
    }

#define P2P_METHOD(name, kind, condition) \
    { \
        P2P, "P2PCommunicator." name, kind, .engine = FD_ENGINE_MEGATRON, \
                                            .micro_batch = "count", \
                                            .when = condition \
    }

/* One of several jobs that a call may start at once. */
#define MAYBE(name, kind, condition) \
    { \
        P2P, "P2PCommunicator." name, kind, .engine = FD_ENGINE_MEGATRON, \
                                            .micro_batch = "count", \
                                            .when = condition, .also = true \
    }

/* Bytes sent and received by the functions that P2PCommunicator calls. */
#define MOVES(name, kind, tensor) \
    { \
        P2P, name, kind, FD_ROLE_MOVE, FD_ENGINE_MEGATRON, \
            .bytes = "arg:" tensor, .also = true \
    }

#define REDUCES(name, tensors) \
    { \
        COLLECTIVES, name, "RT+RD", FD_ROLE_MOVE, FD_ENGINE_TORCH, \
            .bytes = "arg:" tensors \
    }

#define BATCH(name) \
    { \
        MEGATRON, name, "ITER", FD_ROLE_ITERATION, FD_ENGINE_MEGATRON, \
            .micro_batch = "arg:num_microbatches", \
            .eval = "arg:forward_only", .owner = "arg:model" \
    }

static const fd_job_rule built_in[] = {
    {DEEPSPEED, "PipelineEngine.train_batch", "ITER", FD_ROLE_ITERATION,
     FD_ENGINE_DEEPSPEED, .stage = "attr:num_stages", .eval = "0"},
    {DEEPSPEED, "PipelineEngine.eval_batch", "ITER", FD_ROLE_ITERATION,
     FD_ENGINE_DEEPSPEED, .stage = "attr:num_stages", .eval = "1"},
    {DEEPSPEED, "PipelineEngine._exec_schedule", NULL, FD_ROLE_SCHEDULE,
     FD_ENGINE_DEEPSPEED, .micro_batch = "arg:pipe_schedule.micro_batches",
     .stage = "arg:pipe_schedule.stages", .plan = "arg:pipe_schedule"},
    INSTRUCTION("load_micro_batch", "LM"),
    INSTRUCTION("forward_pass", "F"),
    INSTRUCTION("backward_pass", "B"),
    INSTRUCTION("send_activations", "SA"),
    INSTRUCTION("recv_activations", "RA"),
    INSTRUCTION("send_grads", "SG"),
    INSTRUCTION("recv_grads", "RG"),
    AT_THE_END("reduce_tied_grads", "RT"),
    AT_THE_END("reduce_grads", "RD"),
    AT_THE_END("optimizer_step", "OPT"),
    {BETWEEN_STAGES, "send", "SA+SG", FD_ROLE_MOVE, FD_ENGINE_DEEPSPEED,
     .bytes = "arg:tensor"},
    {BETWEEN_STAGES, "recv", "RA+RG", FD_ROLE_MOVE, FD_ENGINE_DEEPSPEED,
     .bytes = "arg:tensor"},

    BATCH_OF("PipelineScheduleSingle", "attr:_num_stages", "attr:_num_stages"),
    BATCH_OF("PipelineScheduleMulti", "attr:_num_stages",
             "attr:pp_group_size"),
    OF_STAGE("forward_one_chunk", "F", .micro_batch = "arg:fwd_chunk_id"),
    OF_STAGE("backward_one_chunk", "B", .micro_batch = "arg:bwd_chunk_id",
             .when = "arg:full_backward"),
    OF_STAGE("backward_one_chunk", "I", .micro_batch = "arg:bwd_chunk_id"),
    OF_STAGE("backward_weight_one_chunk", "W",
             .micro_batch = "arg:bwd_chunk_id"),
    OF_STAGE("perform_reduce_grad", "RD"),
    OF_STAGE("set_local_fwd_input", "SA+RA", .micro_batch = "arg:mb_index",
             .flags = FD_JOB_LOCAL, .bytes = "arg:prev_stage_outputs"),
    OF_STAGE("set_local_bwd_input", "SG+RG", .micro_batch = "arg:mb_index",
             .flags = FD_JOB_LOCAL, .bytes = "arg:next_stage_bwd_outputs"),
    OF_STAGE("get_fwd_recv_ops", "RA", .micro_batch = "arg:fwd_chunk_id",
             .role = FD_ROLE_PREPARE),
    OF_STAGE("get_fwd_send_ops", "SA", .micro_batch = "arg:fwd_chunk_id",
             .role = FD_ROLE_PREPARE),
    OF_STAGE("get_bwd_recv_ops", "RG", .micro_batch = "arg:bwd_chunk_id",
             .role = FD_ROLE_PREPARE),
    OF_STAGE("get_bwd_send_ops", "SG", .micro_batch = "arg:bwd_chunk_id",
             .role = FD_ROLE_PREPARE),
    {SCHEDULES, "_batch_p2p", NULL, FD_ROLE_POST, FD_ENGINE_TORCH,
     .flags = FD_JOB_POSTED},
    {SCHEDULES, "_wait_batch_p2p", NULL, FD_ROLE_WAIT, FD_ENGINE_TORCH,
     .plan = "arg:work"},
    REDUCES("all_reduce", "tensor"),
    REDUCES("all_reduce_coalesced", "tensors"),
    REDUCES("reduce", "tensor"),
    REDUCES("reduce_scatter", "input_list"),
    REDUCES("reduce_scatter_tensor", "input"),

    BATCH("forward_backward_no_pipelining"),
    BATCH("forward_backward_pipelining_without_interleaving"),
    BATCH("forward_backward_pipelining_with_interleaving"),
    {MEGATRON, "forward_step", "F", .engine = FD_ENGINE_MEGATRON,
     .micro_batch = "arg:current_microbatch", .chunk = "arg:vp_stage"},
    {MEGATRON, "backward_step", "B", .engine = FD_ENGINE_MEGATRON,
     .micro_batch = "count"},
    {COMBINED, "combined_forward_backward_step", "F",
     .engine = FD_ENGINE_MEGATRON, .micro_batch = "arg:current_microbatch",
     .chunk = "arg:f_model_chunk_id", .when = "arg:f_model", .also = true,
     .own_order = true},
    {COMBINED, "combined_forward_backward_step", "B",
     .engine = FD_ENGINE_MEGATRON, .micro_batch = "count",
     .when = "arg:b_model", .own_order = true},
    MAYBE("send_forward_recv_forward", "SA", "arg:output_tensor"),
    MAYBE("send_forward_recv_forward", "RA", "arg:recv_prev"),
    MAYBE("send_backward_recv_backward", "SG", "arg:input_tensor_grad"),
    MAYBE("send_backward_recv_backward", "RG", "arg:recv_next"),
    MAYBE("send_forward_backward_recv_forward_backward", "SA",
          "arg:output_tensor"),
    MAYBE("send_forward_backward_recv_forward_backward", "SG",
          "arg:input_tensor_grad"),
    MAYBE("send_forward_backward_recv_forward_backward", "RA",
          "arg:recv_prev"),
    MAYBE("send_forward_backward_recv_forward_backward", "RG",
          "arg:recv_next"),
    P2P_METHOD("recv_forward", "RA", "!arg:is_first_stage"),
    P2P_METHOD("recv_backward", "RG", "!arg:is_last_stage"),
    P2P_METHOD("send_forward", "SA", "!arg:is_last_stage"),
    P2P_METHOD("send_backward", "SG", "!arg:is_first_stage"),
    P2P_METHOD("send_forward_recv_backward", "SA+RG", "!arg:is_last_stage"),
    P2P_METHOD("send_backward_recv_forward", "SG+RA", "!arg:is_first_stage"),
    MOVES("_p2p_ops", "SA", "tensor_send_next"),
    MOVES("_p2p_ops", "RA", "tensor_recv_prev"),
    MOVES("_p2p_ops", "SG", "tensor_send_prev"),
    MOVES("_p2p_ops", "RG", "tensor_recv_next"),
    MOVES("_batched_p2p_ops", "SA", "tensor_send_next"),
    MOVES("_batched_p2p_ops", "RA", "tensor_recv_prev"),
    MOVES("_batched_p2p_ops", "SG", "tensor_send_prev"),
    MOVES("_batched_p2p_ops", "RG", "tensor_recv_next"),
};

enum { BUILT_IN = sizeof built_in / sizeof *built_in };

const char *
fd_job_engine_name(fd_job_engine engine)
{
    static const char *const names[FD_ENGINES] = {"user", "deepspeed", "torch",
                                                  "megatron"};
    return names[engine];
}

uint32_t
fd_job_rules_count(void)
{
    return BUILT_IN + fd_process.job_rules.count;
}

const fd_job_rule *
fd_job_rule_at(uint32_t number)
{
    return number < BUILT_IN ? &built_in[number]
                             : fd_process.job_rules.list[number - BUILT_IN];
}

static bool
rule_matches(const fd_job_rule *rule, const char *file, const char *qualified)
{
    size_t size = strlen(file);
    size_t suffix = strlen(rule->suffix);
    return strcmp(qualified, rule->qualified) == 0 && suffix <= size
        && strcmp(file + size - suffix, rule->suffix) == 0
        && (suffix == size || file[size - suffix - 1] == '/'
            || rule->suffix[0] == '/');
}

static fd_job_site *
site_of(uint32_t number, const PyCodeObject *code)
{
    fd_job_site *site = fd_calloc(1, sizeof *site);
    if (site == NULL) {
        return NULL;
    }
    const fd_job_rule *rule = fd_job_rule_at(number);
    const char *const texts[FD_FIELDS] = {
        [FD_FIELD_MICRO_BATCH] = rule->micro_batch,
        [FD_FIELD_STAGE] = rule->stage,
        [FD_FIELD_CHUNK] = rule->chunk,
        [FD_FIELD_PEER] = rule->peer,
        [FD_FIELD_BUFFER] = rule->buffer,
        [FD_FIELD_BYTES] = rule->bytes,
        [FD_FIELD_WHEN] = rule->when,
        [FD_FIELD_PLAN] = rule->plan,
        [FD_FIELD_EVAL] = rule->eval,
        [FD_FIELD_OWNER] = rule->owner,
    };
    site->rule = rule;
    site->number = number;
    site->holders = 1;
    for (int i = 0; i < FD_FIELDS; i++) {
        site->sources[i] = fd_source_of(texts[i], code);
    }
    return site;
}

fd_job_site *
fd_job_site_of(const PyCodeObject *code)
{
    PyObject *texts[] = {fd_utf8_text_of(code->co_filename),
                         fd_utf8_text_of(code->co_qualname)};
    const char *file = fd_utf8(texts[0], "");
    const char *qualified = fd_utf8(texts[1], "");
    fd_job_site *first = NULL;
    fd_job_site **end = &first;
    uint32_t count = fd_job_rules_count();
    for (uint32_t i = 0; i < count; i++) {
        /* Try the user's rules first. */
        uint32_t number = (i + BUILT_IN) % count;
        if (rule_matches(fd_job_rule_at(number), file, qualified)) {
            *end = site_of(number, code);
            end = *end != NULL ? &(*end)->next : end;
        }
    }
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    return first;
}

fd_job_site *
fd_job_site_hold(fd_job_site *site)
{
    if (site != NULL) {
        site->holders++;
    }
    return site;
}

void
fd_job_site_free(fd_job_site *site)
{
    if (site == NULL || --site->holders > 0) {
        return;
    }
    while (site != NULL) {
        fd_job_site *next = site->next;
        for (int i = 0; i < FD_FIELDS; i++) {
            fd_source_clear(&site->sources[i]);
        }
        fd_free(site);
        site = next;
    }
}

static fd_status
check_rule(const fd_job_rule *rule, fd_error *error)
{
    const struct {
        const char *name;
        const char *text;
    } sources[] = {{"mb", rule->micro_batch}, {"stage", rule->stage},
                   {"chunk", rule->chunk},    {"peer", rule->peer},
                   {"buffer", rule->buffer},  {"bytes", rule->bytes},
                   {"when", rule->when}};
    if (rule->suffix[0] == '\0' || rule->qualified[0] == '\0'
        || rule->kinds[0] == '\0') {
        return fd_fail(error, FD_EINVAL,
                       "rule: path suffix, qualified name and kind must not be"
                       " empty");
    }
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!fd_source_is_valid(sources[i].text)) {
            return fd_fail(error, FD_EINVAL,
                           "rule: %s=\"%s\": must be arg:NAME, attr:NAME,"
                           " count or a number",
                           sources[i].name, sources[i].text);
        }
    }
    return FD_OK;
}

/* Copy a rule and all its texts into one block of memory. */
static fd_job_rule *
copy_of(const fd_job_rule *rule)
{
    const char *const texts[] = {
        rule->suffix, rule->qualified, rule->kinds, rule->micro_batch,
        rule->stage,  rule->chunk,     rule->peer,  rule->buffer,
        rule->bytes,  rule->when,      rule->plan,  rule->eval};
    enum { TEXTS = sizeof texts / sizeof *texts };
    size_t bytes = sizeof(fd_job_rule);
    for (int i = 0; i < TEXTS; i++) {
        bytes += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
    }
    fd_job_rule *made = fd_malloc(bytes);
    if (made == NULL) {
        return NULL;
    }
    *made = *rule;
    const char **const places[TEXTS] = {
        &made->suffix, &made->qualified, &made->kinds, &made->micro_batch,
        &made->stage,  &made->chunk,     &made->peer,  &made->buffer,
        &made->bytes,  &made->when,      &made->plan,  &made->eval};
    char *at = (char *)(made + 1);
    for (int i = 0; i < TEXTS; i++) {
        if (texts[i] != NULL) {
            size_t size = strlen(texts[i]) + 1;
            memcpy(at, texts[i], size);
            *places[i] = at;
            at += size;
        }
    }
    return made;
}

fd_status
fd_job_rules_add(const fd_job_rule *rule, fd_error *error)
{
    fd_status status = check_rule(rule, error);
    if (status != FD_OK) {
        return status;
    }
    fd_job_rule *made = copy_of(rule);
    if (made == NULL || fd_vector_push(&fd_process.job_rules, made) != FD_OK) {
        fd_free(made);
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    return FD_OK;
}
