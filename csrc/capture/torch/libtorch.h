/* Functions of PyTorch's C++ library, looked up at run time in the copy that
 * the program has loaded. Never loads it; the build requires no headers. */
#ifndef FD_LIBTORCH_H
#define FD_LIBTORCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* at::RecordFunctionCallback, passed by value. Callers pad it with zeros, so
 * that a version that appends fields reads zeros. Source: ATen/
 * record_function.h, the same from 2.4 to 2.13. */
typedef struct fd_record_callback {
    void *(*start)(void **result, const void *record); /* hidden_result.h */
    void (*end)(const void *record, void *context);
    double sampling_probability;
    bool scopes[10];
    bool needs_inputs;
    bool needs_outputs;
    bool needs_ids;
    char zero[27];
} fd_record_callback;

/* std::string */
typedef struct fd_cpp_text {
    const char *text;
    uint64_t size;
    uint64_t capacity[2];
} fd_cpp_text;

typedef struct fd_libtorch {
    uint64_t (*add_global_callback)(fd_record_callback callback);
    uint64_t (*add_thread_callback)(fd_record_callback callback);
    void (*remove_callback)(uint64_t handle);
    const char *(*record_name)(const void *record);
    bool (*record_is_async)(const void *record);
    uint64_t (*current_thread)(void);
    uint64_t (*next_number)(void); /* returns the number of the next autograd
                                      node here */
    void *(*print_schema)(void *stream, const void *schema);
    void (*begin_stream)(void *stream); /* std::ostringstream */
    void (*end_stream)(void *stream);
    /* call it with fd_hidden_result_call: an fd_cpp_text */
    void *(*stream_text)(void *text, const void *stream);
    void (*end_text)(fd_cpp_text *text);
    uint64_t process_group_table; /* first word of a c10d::ProcessGroup;
                                     0: PyTorch was built without it */
} fd_libtorch;

/* At file scope because callbacks get no user pointer. Set by fd_libtorch_find
 * before the first callback and constant afterwards. */
extern fd_libtorch fd_torch;

/* Look up the functions. Return FD_EINVAL, naming the missing function, if
 * PyTorch is not loaded or has an unknown version. */
fd_status fd_libtorch_find(fd_error *error);

/* Return another function of PyTorch, or NULL if it is not found. */
void *fd_libtorch_function(const char *symbol);

/* Look up the functions for execution traces: print_schema and those after
 * it. */
fd_status fd_libtorch_find_printer(fd_error *error);

#endif
