#include "trace/known_names.h"

#include "recording/job_kinds.h"

#include <ctype.h>
#include <string.h>

static const char *const classes[] = {"Adadelta",
                                      "Adagrad",
                                      "Adam",
                                      "AdamW",
                                      "Adamax",
                                      "LBFGS",
                                      "RMSprop",
                                      "SGD",
                                      "Module",
                                      "ModuleDict",
                                      "ModuleList",
                                      "Sequential",
                                      "_MultiProcessingDataLoaderIter",
                                      "_SingleProcessDataLoaderIter",
                                      NULL};
static const char *const spaces[] = {"aten::",
                                     "prim::",
                                     "prims::",
                                     "torch::",
                                     "c10d::",
                                     "c10d_functional::",
                                     "_c10d_functional::",
                                     "inductor::",
                                     "quantized::",
                                     "profiler::",
                                     "torchvision::",
                                     "record_param_comms",
                                     "nccl:",
                                     "gloo:",
                                     "Torch-Compiled Region",
                                     "autograd::",
                                     NULL};
static const char *const ranges[] = {"ProfilerStep#",
                                     "Optimizer.step#",
                                     "Optimizer.zero_grad#",
                                     "enumerate(DataLoader)#",
                                     "DistributedDataParallel.",
                                     "nccl:",
                                     "gloo:",
                                     NULL};
static const char *const roles[] = {"main", "pin-memory", "autograd:", NULL};
static const char *const facts[] = {
    "cost_ns",    "fastdispatch", "implementation", "machine", "ops",
    "ops_reason", "python",       "torch",          NULL};

/* Return the entry with which `text` begins, or NULL. */
static const char *
entry_starting(const char *const *list, const char *text)
{
    while (*list != NULL && strncmp(text, *list, strlen(*list)) != 0) {
        list++;
    }
    return *list;
}

static bool
is_one_of(const char *const *list, const char *text)
{
    while (*list != NULL && strcmp(text, *list) != 0) {
        list++;
    }
    return *list != NULL;
}

fd_sip_key
fd_names_key(const char *salt, size_t size)
{
    return (fd_sip_key){.low = fd_siphash((fd_sip_key){1, 0}, salt, size),
                        .high = fd_siphash((fd_sip_key){2, 0}, salt, size)};
}

void
fd_names_hide(fd_sip_key key, fd_buffer *to, const char *name, size_t size)
{
    uint64_t hash = fd_siphash(key, name, size);
    fd_buffer_format(to, "f_%012llx", (unsigned long long)(hash >> 16));
}

bool
fd_names_class(const char *name)
{
    return is_one_of(classes, name);
}

/* Return the bytes before the name of the autograd node in
 * "autograd::engine::evaluate_function: MyBackward", or 0 for any other
 * name. */
static size_t
engine_size(const char *name)
{
    static const char engine[] = "autograd::engine::evaluate_function: ";
    size_t size = sizeof engine - 1;
    return strncmp(name, engine, size) == 0 ? size : 0;
}

bool
fd_names_operator(const char *name)
{
    size_t engine = engine_size(name);
    return engine > 0 ? fd_names_autograd(name + engine)
                      : entry_starting(spaces, name) != NULL;
}

/* Return whether an autograd node is PyTorch's: these have numbers, as
 * AddmmBackward0; others have the name of a class without a number. */
bool
fd_names_autograd(const char *name)
{
    const char *end = strstr(name, "Backward");
    return fd_names_operator(name)
        || (end != NULL && isdigit((unsigned char)end[8]) != 0
            && end[8 + strspn(end + 8, "0123456789")] == '\0');
}

bool
fd_names_job(const char *name)
{
    for (int kind = 0; kind < FD_JOB_KINDS; kind++) {
        if (strcmp(fd_job_kind_name((fd_job_kind)kind), name) == 0) {
            return true;
        }
    }
    return false;
}

bool
fd_names_role(const char *name)
{
    return entry_starting(roles, name) != NULL;
}

bool
fd_names_fact(const char *key)
{
    return is_one_of(facts, key);
}

fd_range_name
fd_names_range(const char *name)
{
    const char *known = entry_starting(ranges, name);
    if (known == NULL) {
        return (fd_range_name){0, 0};
    }
    size_t size = strlen(known);
    const char *rest = name + size;
    bool owned =
        known[size - 1] == '#' && strspn(rest, "0123456789*") < strlen(rest);
    return (fd_range_name){size, owned ? strcspn(rest, ".") : 0};
}
