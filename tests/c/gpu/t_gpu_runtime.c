#include "check.h"

#include "gpu/gpu_runtime.h"
#include "standin/cudart.h"

/* The loaded runtime is found by its name and called. */
TEST(finds_the_loaded_runtime)
{
    standin_reset();
    fd_gpu_runtime runtime;
    OK(fd_gpu_runtime_find(&runtime, NULL));
    SAME(runtime.library, "libcudart.so.13");
    int device = -1;
    CHECK(cudaSetDevice(1) == 0);
    EQUAL(runtime.get_device(&device), 0);
    EQUAL(device, 1);
    void *event;
    EQUAL(runtime.event_create(&event, 0), 0);
    EQUAL(runtime.event_record(event, NULL), 0);
    EQUAL(runtime.event_query(event), 0);
    EQUAL(runtime.event_destroy(event), 0);
    EQUAL(standin_calls("cudaEventRecord"), 1);
}

/* The runtime stores "not ready" as the last error of the thread: the program
 * must not see it. */
TEST(leaves_no_error)
{
    standin_reset();
    standin_clock(1000);
    standin_launch(NULL, 1000000);
    fd_gpu_runtime runtime;
    OK(fd_gpu_runtime_find(&runtime, NULL));
    void *event;
    EQUAL(runtime.event_create(&event, 0), 0);
    EQUAL(runtime.event_record(event, NULL), 0);
    EQUAL(runtime.event_query(event), FD_GPU_NOT_READY);
    EQUAL(cudaPeekAtLastError(), FD_GPU_NOT_READY);
    EQUAL(fd_gpu_result(&runtime, runtime.event_query(event)),
          FD_GPU_NOT_READY);
    EQUAL(cudaPeekAtLastError(), 0);
    CHECK(fd_gpu_is_clean(&runtime));
    standin_leave_error(9);
    CHECK(!fd_gpu_is_clean(&runtime));
    EQUAL(cudaGetLastError(), 9);
    EQUAL(runtime.event_destroy(event), 0);
}
