/* Field offsets of at::RecordFunction. Its accessors are inline C++, so fields
 * are read from memory; a self-test on the loaded library selects the layout,
 * or fails. */
#ifndef FD_RECORD_LAYOUT_H
#define FD_RECORD_LAYOUT_H

#include "capture/torch/libtorch.h"

#include <string.h>

typedef struct fd_layout {
    const char *name;        /* stored as a fact in the recording */
    uint16_t variant;        /* 1: `function` is a schema; 0: it is text */
    uint16_t sequence;       /* int64: autograd's number, -1: none */
    uint16_t forward_thread; /* uint64, autograd nodes only */
    uint16_t id; /* uint64: id of the record; 0 if no callback needs ids */
} fd_layout;

/* Offsets that are the same in all known layouts. */
enum {
    FD_RECORD_THREAD = 88,   /* uint64: PyTorch's number of this thread */
    FD_RECORD_SCOPE = 96,    /* byte: at::RecordScope */
    FD_RECORD_FUNCTION = 160 /* pointer: FunctionSchema, or characters */
};

/* at::RecordScope */
enum { FD_SCOPE_FUNCTION = 0, FD_SCOPE_BACKWARD = 1, FD_SCOPE_USER = 7 };

static inline uint64_t
fd_record_word(const void *record, int offset)
{
    uint64_t word;
    memcpy(&word, (const char *)record + offset, sizeof word);
    return word;
}

static inline uint8_t
fd_record_byte(const void *record, int offset)
{
    return ((const uint8_t *)record)[offset];
}

/* The layout of the loaded PyTorch; NULL before a self-test has passed,
 * constant afterwards. */
extern const fd_layout *fd_record_layout;

/* Return the "Record function id" of torch.profiler, or 0 if it has no id. */
static inline uint64_t
fd_record_id(const void *record)
{
    return fd_record_layout->id != 0
             ? fd_record_word(record, fd_record_layout->id)
             : 0;
}

/* Return whether the record has an operator schema instead of a text. */
static inline bool
fd_record_has_schema(const void *record)
{
    return fd_record_byte(record, fd_record_layout->variant) == 1;
}

static inline const char *
fd_record_text(const void *record)
{
    return (const char *)(uintptr_t)fd_record_word(record, FD_RECORD_FUNCTION);
}

/* Run the self-test, in two halves. In between, the caller runs the operators
 * of python/fastdispatch/record/probe.py on this thread; they return the
 * number of the first operator. Return FD_EINVAL if no layout fits. */
fd_status fd_layout_probe_begin(void);
fd_status fd_layout_probe_end(uint64_t number, fd_error *error);

#endif
