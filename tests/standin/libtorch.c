/* A PyTorch library with another layout of at::RecordFunction: it exports the
 * functions that the recorder looks up, and its records are empty. Call
 * run_operators between adding and removing a callback. */
#include "capture/torch/libtorch.h"

#include <stddef.h>
#include <string.h>

/* C returns a struct of this size as C++ returns a std::unique_ptr: through a
 * hidden pointer. */
typedef struct object {
    void *value;
    void *others[4];
} object;

static fd_record_callback callback;
static const uint64_t record[64];

uint64_t
_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(
    fd_record_callback added)
{
    callback = added;
    return 1;
}

uint64_t
_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE(
    fd_record_callback added)
{
    callback = added;
    return 1;
}

void
_ZN2at14removeCallbackEm(uint64_t handle)
{
    (void)handle;
    callback.start = NULL;
}

const char *
_ZNK2at14RecordFunction4nameEv(const void *seen)
{
    (void)seen;
    return "aten::mul";
}

bool
_ZNK2at14RecordFunction7isAsyncEv(const void *seen)
{
    (void)seen;
    return false;
}

uint64_t
_ZN2at14RecordFunction15currentThreadIdEv(void)
{
    return 1;
}

uint64_t
_ZN2at15sequence_number4peekEv(void)
{
    return 0;
}

void
run_operators(int count)
{
    for (int i = 0; i < count && callback.start != NULL; i++) {
        object context;
        object (*start)(const void *);
        memcpy(&start, &callback.start, sizeof start);
        context = start(record);
        callback.end(record, context.value);
    }
}
