#include "capture/torch/record_layout.h"

#include "base/hidden_result.h"

#include <stdio.h>

enum {
    SEEN = 64,         /* maximum records kept by a probe; about ten occur */
    RECORD_BYTES = 344 /* sizeof(at::RecordFunction), the larger layout */
};

typedef struct seen_record {
    uint8_t bytes[RECORD_BYTES];
    char name[64];
} seen_record;

const fd_layout *fd_record_layout;

/* At file scope because the callback gets no user pointer. The probe runs
 * once, on one thread with the GIL. */
static struct {
    uint64_t handle;
    int count;
    seen_record records[SEEN];
} probe;

/* The new (C++11) and old string ABIs of libstdc++. */
static const fd_layout layouts[] = {
    {"C++11 strings", 192, 200, 304, 312},
    {"old strings", 168, 176, 280, 288},
    {"C++11 strings, no ids", 192, 200, 304, 0},
    {"old strings, no ids", 168, 176, 280, 0},
};

FD_HIDDEN_RESULT_DEFINE(start_probe);

FD_HIDDEN_RESULT
start_probe(void **result, const void *record)
{
    *result = NULL;
    if (probe.count < SEEN) {
        seen_record *seen = &probe.records[probe.count++];
        memcpy(seen->bytes, record, sizeof seen->bytes);
        snprintf(seen->name, sizeof seen->name, "%s",
                 fd_torch.record_name(record));
    }
    return result;
}

static void
end_probe(const void *record, void *context)
{
    (void)record;
    (void)context;
}

fd_status
fd_layout_probe_begin(void)
{
    fd_record_callback callback = {
        .start = FD_HIDDEN_RESULT_ENTRY(start_probe),
        .end = end_probe,
        .sampling_probability = 1.0,
        .needs_ids = true,
    };
    memset(callback.scopes, 1, sizeof callback.scopes);
    probe.count = 0;
    probe.handle = fd_torch.add_thread_callback(callback);
    return probe.handle != 0 ? FD_OK : FD_EINVAL;
}

/* Return the n-th record with this name, or NULL. */
static const uint8_t *
nth_record(const char *name, int n)
{
    for (int i = 0; i < probe.count; i++) {
        if (strcmp(probe.records[i].name, name) == 0 && n-- == 0) {
            return probe.records[i].bytes;
        }
    }
    return NULL;
}

static bool
is_op(const fd_layout *layout, const uint8_t *record, uint64_t number)
{
    return record != NULL
        && fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_FUNCTION
        && fd_record_byte(record, layout->variant) == 1
        && fd_record_word(record, layout->sequence) == number
        && fd_record_word(record, FD_RECORD_THREAD)
               == fd_torch.current_thread();
}

static bool
is_range(const fd_layout *layout, const uint8_t *record)
{
    return record != NULL
        && fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_USER
        && fd_record_byte(record, layout->variant) == 0;
}

static bool
is_backward(const fd_layout *layout, const uint8_t *record, uint64_t number)
{
    return record != NULL
        && fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_BACKWARD
        && fd_record_byte(record, layout->variant) == 0
        && fd_record_word(record, layout->sequence) == number
        && fd_record_word(record, layout->forward_thread)
               == fd_torch.current_thread();
}

/* Return whether the ids of two records fit: PyTorch numbers records
 * consecutively. */
static bool
has_ids(const fd_layout *layout, const uint8_t *earlier, const uint8_t *later)
{
    uint64_t first = fd_record_word(earlier, layout->id);
    return layout->id == 0
        || (first != 0 && first < fd_record_word(later, layout->id));
}

/* Return whether a layout fits the records. probe.py runs mul twice: with
 * gradients, then without. */
static bool
layout_explains(const fd_layout *layout, uint64_t number)
{
    return is_op(layout, nth_record("aten::mul", 0), number)
        && is_op(layout, nth_record("aten::mul", 1), UINT64_MAX)
        && has_ids(layout, nth_record("aten::mul", 0),
                   nth_record("aten::mul", 1))
        && is_range(layout, nth_record("fastdispatch.probe", 0))
        && is_backward(layout, nth_record("MulBackward0", 0), number);
}

fd_status
fd_layout_probe_end(uint64_t number, fd_error *error)
{
    fd_torch.remove_callback(probe.handle);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layout_explains(&layouts[i], number)) {
            fd_record_layout = &layouts[i];
            return FD_OK;
        }
    }
    return fd_fail(error, FD_EINVAL,
                   "the self-test received %d records, which fit none of the "
                   "%zu known layouts of at::RecordFunction",
                   probe.count, sizeof layouts / sizeof *layouts);
}
