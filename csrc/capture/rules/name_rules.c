#include "capture/rules/name_rules.h"

#include "capture/process/process.h"
#include "capture/python/utf8_text.h"
#include "capture/rules/code_flags.h"
#include "recording/recording_format.h"

#include <string.h>

typedef struct fd_rule {
    const char *part;      /* must occur in the path of the file */
    const char *qualified; /* the __qualname__; NULL: any */
    uint16_t code;         /* FD_CODE_* */
    uint16_t node;         /* FD_NODE_* */
} fd_rule;

/* The first matching rule applies. */
static const fd_rule rules[] = {
    /* Functions that PyTorch calls around a dispatch mode: three per operator,
     * and dozens when it creates the Python object of an operator. */
    {"torch/_library/simple_registry.py", NULL, FD_CODE_MUTED, 0},
    {"torch/_ops.py", "_Ops.__getattr__", FD_CODE_MUTED, 0},
    {"torch/_ops.py", "_OpNamespace.__getattr__", FD_CODE_MUTED, 0},
    {"torch/_ops.py", "OpOverloadPacket.__getattr__", FD_CODE_MUTED, 0},

    /* A function of the recorder that calls one of PyTorch. */
    {"/record/optimizer_reports.py", "begin_reports.<locals>.report",
     FD_CODE_MUTED, 0},

    /* Callers of the program, such as `python -m`. */
    {"<frozen runpy>", NULL, FD_CODE_PLUMBING, 0},
    {"/bin/ipython", "<module>", FD_CODE_PLUMBING, 0},

    /* Imports, which have hundreds of thousands of call paths. */
    {"<frozen importlib", NULL, 0, FD_NODE_FOLD},
    {"/torch/__init__.py", "<module>", FD_CODE_CHANGES, 0},

    {"torch/distributed/distributed_c10d.py", "init_process_group",
     FD_CODE_CHANGES, 0},
    {"torch/distributed/distributed_c10d.py", "_new_group_with_tag",
     FD_CODE_CHANGES, 0},
    {"torch/distributed/distributed_c10d.py", "split_group", FD_CODE_CHANGES,
     0},
    {"torch/distributed/distributed_c10d.py", NULL, FD_CODE_WAITS, 0},
    {"multiprocessing/context.py", "SpawnProcess._after_fork", FD_CODE_CHANGES,
     0},

    {"torch/cuda/nvtx.py", "range_push", FD_CODE_NVTX, 0},
    {"torch/cuda/nvtx.py", "range_pop", FD_CODE_NVTX, 0},
    {"torch/cuda/nvtx.py", "range_start", FD_CODE_NVTX, 0},
    {"torch/cuda/nvtx.py", "range_end", FD_CODE_NVTX, 0},

    /* The compiler, as opposed to compiled code. */
    {"torch/_dynamo/convert_frame.py", NULL, 0, FD_NODE_FOLD},
    {"torch/_dynamo/eval_frame.py", NULL, 0, 0},
    {"torch/_dynamo/", NULL, 0, FD_NODE_FOLD},
    {"torch/_inductor/compile_fx.py", NULL, 0, FD_NODE_FOLD},
    {"torch/_inductor/output_code.py", NULL, 0, 0},
    {"torch/_inductor/utils.py", NULL, 0, 0},
    {"torch/_inductor/", NULL, 0, FD_NODE_FOLD},
    {"torch/fx/graph_module.py", NULL, 0, 0},
    {"torch/fx/", NULL, 0, FD_NODE_FOLD},

    /* Phases and ends of steps. */
    {"torch/autograd/__init__.py", "backward", FD_CODE_BACKWARD,
     FD_PHASE_BACKWARD},
    {"torch/autograd/__init__.py", "grad", FD_CODE_BACKWARD,
     FD_PHASE_BACKWARD},
    {"megatron/core/pipeline_parallel/schedules.py", "custom_backward",
     FD_CODE_BACKWARD, FD_PHASE_BACKWARD},
    {"torch/autograd/graph.py", "_engine_run_backward", 0, FD_PHASE_BACKWARD},
    {"torch/_tensor.py", "Tensor.backward", 0, FD_PHASE_BACKWARD},
    {"torch/optim/optimizer.py",
     "Optimizer.profile_hook_step.<locals>.wrapper", FD_CODE_OPTIMIZER,
     FD_PHASE_OPTIMIZER},
    {"torch/optim/optimizer.py", "Optimizer.zero_grad", 0, FD_PHASE_OPTIMIZER},
    {"amp/grad_scaler.py", "GradScaler.step",
     FD_CODE_OPTIMIZER | FD_CODE_SCALER, FD_PHASE_OPTIMIZER},
    {"/optimizer/optimizer.py", "MixedPrecisionOptimizer.step",
     FD_CODE_OPTIMIZER, FD_PHASE_OPTIMIZER},
    {"/optimizer/optimizer.py", "ChainedOptimizer.step", FD_CODE_OPTIMIZER,
     FD_PHASE_OPTIMIZER},
    {"torch/profiler/profiler.py", "profile.step",
     FD_CODE_STEP | FD_CODE_SCALER, 0},
    {"torch/utils/data/dataloader.py", "_BaseDataLoaderIter.__next__", 0,
     FD_PHASE_DATA},
    {"lightning/pytorch/strategies/strategy.py", "Strategy.training_step", 0,
     FD_PHASE_FORWARD},
    {"pytorch_lightning/strategies/strategy.py", "Strategy.training_step", 0,
     FD_PHASE_FORWARD},
    {"deepspeed/runtime/engine.py", "DeepSpeedEngine.backward", 0,
     FD_PHASE_BACKWARD},
    {"deepspeed/runtime/engine.py", "DeepSpeedEngine.step", 0,
     FD_PHASE_OPTIMIZER},
    {"deepspeed/runtime/engine.py", "DeepSpeedEngine._take_model_step",
     FD_CODE_OPTIMIZER, 0},
    {"deepspeed/runtime/pipe/engine.py", "PipelineEngine.train_batch",
     FD_CODE_ENGINE, 0},
};

/* Every function of a program is compared with every rule: see first whether
 * the path has what most rules search. */
static const fd_rule *
match_rule(const char *file, const char *qualified)
{
    static const char torch[] = "torch/";
    const char *in_torch = strstr(file, torch);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const fd_rule *rule = &rules[i];
        const char *name = rule->qualified;
        if (name != NULL
            && (name[0] != qualified[0] || strcmp(name, qualified) != 0)) {
            continue;
        }
        bool of_torch = strncmp(rule->part, torch, sizeof torch - 1) == 0;
        const char *from = of_torch ? in_torch : file;
        if (from != NULL && strstr(from, rule->part) != NULL) {
            return rule;
        }
    }
    return NULL;
}

/* Return whether a file is part of this package, or its console script. */
static bool
is_own(const char *file)
{
    const char *folder = fd_process.own_folder;
    size_t size = folder != NULL ? strlen(folder) : 0;
    const char *name = strrchr(file, '/');
    return (name != NULL && strcmp(name, "/fastdispatch") == 0)
        || (size > 0 && strncmp(file, folder, size) == 0 && file[size] == '/');
}

/* Return whether `text` ends with `end`, alone or after `separator`. */
static bool
has_ending(const char *text, const char *end, size_t size, char separator)
{
    size_t whole = strlen(text);
    return whole >= size && memcmp(text + whole - size, end, size) == 0
        && (whole == size || text[whole - size - 1] == separator);
}

/* Return whether the user named this function as the one of a step. Generators
 * end many times. */
static bool
is_step(const PyCodeObject *code, const char *file, const char *qualified)
{
    enum { RESUMABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR };
    const char *wanted = fd_process.step_function;
    if (wanted == NULL || (code->co_flags & RESUMABLE) != 0) {
        return false;
    }
    const char *colon = strrchr(wanted, ':');
    const char *name = colon != NULL ? colon + 1 : wanted;
    return has_ending(qualified, name, strlen(name), '.')
        && (colon == NULL
            || has_ending(file, wanted, (size_t)(colon - wanted), '/'));
}

uint16_t
fd_rules_code(const PyCodeObject *code, uint16_t *node)
{
    PyObject *texts[] = {fd_utf8_text_of(code->co_filename),
                         fd_utf8_text_of(code->co_qualname)};
    const char *file = fd_utf8(texts[0], "");
    const char *qualified = fd_utf8(texts[1], "");
    const fd_rule *rule = match_rule(file, qualified);
    uint16_t flags = rule != NULL ? rule->code : 0;
    *node = rule != NULL ? rule->node : 0;
    flags |= is_step(code, file, qualified) ? FD_CODE_STEP : 0;
    if (is_own(file)) {
        flags &= FD_CODE_MUTED;
        flags = flags != 0 ? flags : FD_CODE_PLUMBING;
    }
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    return flags;
}
