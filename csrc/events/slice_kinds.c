#include "events/slice_kinds.h"

#include <string.h>

static bool
begins_one_of(fd_span text, const char *const *list)
{
    while (*list != NULL && !fd_span_begins(text, *list)) {
        list++;
    }
    return *list != NULL;
}

static bool
is_one_of(fd_span text, const char *const *list)
{
    while (*list != NULL && !fd_span_is(text, *list)) {
        list++;
    }
    return *list != NULL;
}

bool
fd_timeline_is_profiled(fd_span cat)
{
    static const char *const kineto[] = {"cpu_op",
                                         "user_annotation",
                                         "python_function",
                                         "kernel",
                                         "gpu_",
                                         "cuda_",
                                         "xpu_",
                                         "mtia_",
                                         "hpu_",
                                         "overhead",
                                         "Operator",
                                         "Kernel",
                                         "Memcpy",
                                         "Memset",
                                         "Runtime",
                                         "Trace",
                                         "privateuse1_",
                                         NULL};
    return begins_one_of(cat, kineto);
}

static char
lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Return whether a text contains `word`, which is in lower case; case is
 * ignored. */
static bool
has_word(fd_span text, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text.from; at + size <= text.to; at++) {
        size_t same = 0;
        while (same < size && lower_case(at[same]) == word[same]) {
            same++;
        }
        if (same == size) {
            return true;
        }
    }
    return false;
}

static bool
has_one_of(fd_span text, const char *const *words)
{
    while (*words != NULL && !has_word(text, *words)) {
        words++;
    }
    return *words != NULL;
}

fd_span
fd_timeline_plain_name(fd_span name)
{
    static const char *const units[] = {" ns)", " us)", " ms)", " s)"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t size = strlen(units[i]);
        const char *at = name.to - size;
        if (fd_span_size(name) <= size || memcmp(at, units[i], size) != 0) {
            continue;
        }
        while (at > name.from
               && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.')) {
            at--;
        }
        if (at - name.from > 2 && at[-1] == '(' && at[-2] == ' ') {
            name.to = at - 2;
        }
    }
    return name;
}

const char *
fd_timeline_number_in(fd_span name)
{
    const char *at = name.to;
    while (at > name.from && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return at;
}

fd_span
fd_timeline_job_type(fd_span name)
{
    static const char *const before[] = {"_", " mb", " #", "#", " "};
    const char *at = fd_timeline_number_in(name);
    for (size_t i = 0; at < name.to && i < sizeof before / sizeof *before;
         i++) {
        size_t size = strlen(before[i]);
        if ((size_t)(at - name.from) > size
            && memcmp(at - size, before[i], size) == 0) {
            return (fd_span){name.from, at - size};
        }
    }
    return name;
}

/* Return the name of a kernel without templates and parameters. Compilers
 * name kernels after everything that is computed in them. */
static fd_span
kernel_head(fd_span name)
{
    static const char nameless[] = "(anonymous namespace)";
    size_t skipped = sizeof nameless - 1;
    const char *at = name.from;
    while (at < name.to && *at != '<') {
        if (*at == '(') {
            if ((size_t)(name.to - at) < skipped
                || memcmp(at, nameless, skipped) != 0) {
                break;
            }
            at += skipped - 1;
        }
        at++;
    }
    return (fd_span){name.from, at};
}

/* Return whether a kernel, or an operation of XLA or TensorFlow, belongs to a
 * library that communicates, by its name. */
static bool
is_of_library(fd_span name)
{
    static const char *const words[] = {"nccl",
                                        "rccl",
                                        "ccl_",
                                        "ccl::",
                                        "hcom_",
                                        "msccl",
                                        "nvshmem",
                                        "deep_ep::",
                                        "userbuffers",
                                        "symm_mem",
                                        "all_reduce",
                                        "allreduce",
                                        "all-reduce",
                                        "all_gather",
                                        "allgather",
                                        "all-gather",
                                        "reducescatter",
                                        "reduce-scatter",
                                        "all_to_all",
                                        "alltoall",
                                        "all-to-all",
                                        "collective-permute",
                                        "reduce_scatter",
                                        "collective-broadcast",
                                        "cross_device_reduce",
                                        NULL};
    name = kernel_head(name);
    return !fd_span_begins(name, "triton_") && has_one_of(name, words);
}

static uint32_t
device_kind(fd_span cat, fd_span name)
{
    static const char *const copies[] = {"gpu_memcpy", "gpu_memset", "Memcpy",
                                         "Memset", NULL};
    /* "cuda" is that of Nsight Systems' events as Chrome JSON. */
    static const char *const kernels[] = {"kernel", "Kernel", "cuda", NULL};
    if (is_one_of(cat, kernels)) {
        return FD_IS_KERNEL | (is_of_library(name) ? FD_IS_COMMUNICATION : 0);
    }
    return is_one_of(cat, copies) ? FD_IS_COPY : 0;
}

bool
fd_timeline_is_runtime(fd_span cat)
{
    static const char *const ends[] = {"_runtime", "_driver"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);
        if (fd_span_size(cat) > size
            && memcmp(cat.to - size, ends[i], size) == 0) {
            return true;
        }
    }
    return fd_span_is(cat, "Runtime") || fd_span_is(cat, "cuda_api");
}

static uint32_t
job_kind(fd_span cat, fd_span name)
{
    static const char *const types[] = {"forward",
                                        "backward",
                                        "backward_b",
                                        "backward_w",
                                        "optimizer",
                                        "lr",
                                        "send",
                                        "recv",
                                        "receive",
                                        "send_forward",
                                        "send_backward",
                                        "recv_forward",
                                        "recv_backward",
                                        "receive_forward",
                                        "receive_backward",
                                        NULL};
    static const char *const talking[] = {
        "send",      "recv",       "receive",   "all_reduce",
        "allreduce", "all_gather", "allgather", "reduce_scatter",
        "broadcast", "p2p",        NULL};
    /* Functions can have these names too, but their category is a file. */
    static const char *const annotations[] = {"", "user_annotation", "range",
                                              NULL};
    fd_span type = fd_timeline_job_type(name);
    bool same = fd_span_size(cat) == fd_span_size(type)
             && memcmp(cat.from, type.from, fd_span_size(cat)) == 0;
    if (!fd_span_is(cat, "job")
        && !(is_one_of(type, types)
             && (same || is_one_of(cat, annotations)))) {
        return 0;
    }
    return FD_IS_JOB
         | (begins_one_of(type, talking) ? FD_IS_COMMUNICATION : 0);
}

static uint32_t
step_kind(fd_span cat, fd_span name, uint64_t *step)
{
    if (fd_span_numbered(name, "ProfilerStep#", "", step)) {
        return fd_span_is(cat, "gpu_user_annotation") ? FD_IS_GPU_STEP
                                                      : FD_IS_STEP;
    }
    return (fd_span_is(cat, "step") || fd_span_is(cat, "Step"))
                && (fd_span_numbered(name, "step ", "", step)
                    || fd_span_numbered(name, "step", "", step))
             ? FD_IS_STEP
             : 0;
}

static uint32_t
kind_of(fd_span cat, fd_span name, uint64_t *step)
{
    static const char *const backends[] = {
        "gloo:", "nccl:", "mpi:", "ucc:", "xccl:", NULL};
    static const char *const calls[] = {
        "c10d::", "_c10d_functional::", "record_param_comms", NULL};
    static const char *const operators[] = {"cpu_op",   "op",       "operator",
                                            "Operator", "autograd", NULL};
    static const char *const around[] = {"Trace", "nvtx-kernel", NULL};
    static const char *const annotations[] = {"user_annotation", "nvtx", NULL};
    static const char *const of_pytorch[] = {"enumerate(DataLoader)", "##",
                                             "Optimizer.zero_grad", NULL};
    uint32_t kind = step_kind(cat, name, step) | device_kind(cat, name);
    if (kind != 0) {
        return kind;
    }
    bool sums = fd_span_is(cat, "phase") && fd_span_begins(name, "phase: ");
    if (fd_span_begins(cat, "gpu_") || is_one_of(cat, around) || sums) {
        return FD_IS_AROUND;
    }
    if (fd_timeline_is_runtime(cat)) {
        return FD_IS_RUNTIME;
    }
    if (begins_one_of(name, backends)) {
        return FD_IS_COMMUNICATION | FD_IS_BACKEND;
    }
    if (begins_one_of(name, calls)) {
        return FD_IS_COMMUNICATION | FD_IS_CALL;
    }
    kind =
        (is_one_of(cat, operators) ? FD_IS_OPERATOR : 0) | job_kind(cat, name);
    if (kind != 0 || !is_one_of(cat, annotations)
        || begins_one_of(name, of_pytorch)) {
        return kind;
    }
    return fd_span_begins(name, "Optimizer.step#") ? FD_IS_OPTIMIZER
                                                   : FD_IS_RANGE;
}

/* Return the kind of work without a category: of an Ascend NPU, which has a
 * "Task Type", or of XLA, by the names of its operations; steps of JAX. */
static uint32_t
uncategorized_kind(fd_span name, fd_span args)
{
    static const char *const operations[] = {
        "Collective", "psum",  "ppermute",  "send.",
        "send-done",  "recv.", "recv-done", NULL};
    static const char *const cores[] = {"core", "cpu", "mix_", "aiv", NULL};
    fd_span type;
    if (fd_span_begins(name, "hcom_")) {
        return FD_IS_KERNEL | FD_IS_COMMUNICATION;
    }
    if (args.from != NULL && fd_scan_find(args, "Task Type", &type)) {
        return has_one_of(type, cores) ? FD_IS_KERNEL
             : has_word(type, "memcpy") || has_word(type, "sdma") ? FD_IS_COPY
                                                                  : 0;
    }
    if (args.from != NULL && fd_scan_find(args, "step_num", &type)) {
        return FD_IS_RANGE;
    }
    /* A name that begins with "$" is a Python function. */
    return !fd_span_begins(name, "$")
                && (begins_one_of(name, operations) || is_of_library(name))
             ? FD_IS_COMMUNICATION | FD_IS_BACKEND
             : 0;
}

/* Add FD_IS_COLLECTIVE to communication of all ranks. */
static uint32_t
grouped_kind(uint32_t kind, fd_span name)
{
    bool group = (kind & FD_IS_COMMUNICATION) != 0 && (kind & FD_IS_JOB) == 0
              && !has_word(name, "send") && !has_word(name, "recv");
    return kind | (group ? FD_IS_COLLECTIVE : 0);
}

fd_xla_thread
fd_timeline_xla_thread(fd_span name)
{
    static const char *const around[] = {
        "XLA Modules",           "Framework Ops",  "Framework Name Scope",
        "TensorFlow Name Scope", "TensorFlow Ops", "XLA TraceMe",
        "Source code",           "Launch Stats",   NULL};
    return fd_span_is(name, "Steps")         ? FD_XLA_STEPS
         : fd_span_is(name, "XLA Ops")       ? FD_XLA_OPERATORS
         : fd_span_is(name, "Async XLA Ops") ? FD_XLA_ASYNC
         : fd_span_begins(name, "Stream #")  ? FD_XLA_STREAM
         : is_one_of(name, around)           ? FD_XLA_AROUND
                                             : FD_XLA_NONE;
}

uint32_t
fd_timeline_xla_kind(fd_xla_thread thread, fd_span name, uint64_t *step)
{
    static const char *const copies[] = {"memcpy", "memset", NULL};
    static const char text[] = "kernel";
    fd_span kernel = {text, text + sizeof text - 1};
    uint32_t talks = uncategorized_kind(name, (fd_span){NULL, NULL});
    switch (thread) {
    case FD_XLA_STEPS:
        return fd_span_u64(name, step)
                    || fd_span_numbered(name, "step ", "", step)
                 ? FD_IS_STEP
                 : FD_IS_AROUND;
    case FD_XLA_AROUND:
        return FD_IS_AROUND;
    case FD_XLA_STREAM:
        return has_one_of(name, copies)
                 ? FD_IS_COPY
                 : grouped_kind(device_kind(kernel, name), name);
    case FD_XLA_OPERATORS:
    case FD_XLA_ASYNC:
        talks |= talks == 0 && thread == FD_XLA_ASYNC ? FD_IS_ASYNC : 0;
        return grouped_kind(talks | FD_IS_OPERATOR, name);
    case FD_XLA_NONE:
        break;
    }
    return 0;
}

uint32_t
fd_timeline_kind_of(fd_span cat, fd_span name, fd_span args, uint64_t *step)
{
    fd_span value;
    uint32_t kind = kind_of(cat, name, step);
    if (kind == 0 && fd_span_size(cat) == 0) {
        kind = uncategorized_kind(name, args);
    }
    if (kind == FD_IS_KERNEL && args.from != NULL
        && fd_scan_find(args, "Collective name", &value)) {
        kind |= FD_IS_COMMUNICATION;
    }
    return grouped_kind(kind, name);
}

uint32_t
fd_timeline_kind(const fd_timeline_event *event, uint64_t *step)
{
    static const char nothing[] = "";
    fd_span none = {nothing, nothing};
    fd_span cat = event->cat.from != NULL ? fd_span_inside(event->cat) : none;
    fd_span name =
        event->name.from != NULL ? fd_span_inside(event->name) : none;
    return fd_timeline_kind_of(cat, fd_timeline_plain_name(name), event->args,
                               step);
}
