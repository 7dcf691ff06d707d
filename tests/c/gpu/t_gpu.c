#include "fixtures.h"

#include "gpu/gpu.h"
#include "standin/cudart.h"

#include <string.h>

static void
free_gpu(fd_gpu **gpu)
{
    if (*gpu != NULL) {
        fd_gpu_close(*gpu);
        fd_gpu_free(*gpu);
    }
}

/* A recording with the devices of the stand-in. */
#define OPEN_GPU(f, gpu) \
    standin_reset(); \
    FIXTURE(f, NULL, 8); \
    CLEAN(free_gpu) fd_gpu *gpu = NULL; \
    OK(fd_gpu_open(&gpu, f.recording, NULL))

static uint32_t
run(fd_gpu *gpu)
{
    fd_gpu_device *device = fd_gpu_current(gpu);
    if (device == NULL) {
        return 0;
    }
    fd_gpu_call call = {.stream = NULL};
    uint32_t slot = fd_gpu_device_begin(device, &call);
    if (slot != 0) {
        fd_gpu_device_end(device, slot, 16);
    }
    return slot;
}

static const char *
note(const fixture *f)
{
    if (f->recording->meta.chunk == NULL) {
        return ""; /* an allocation was refused */
    }
    const fd_meta *meta = fd_chunk_records(f->recording->meta.chunk);
    return fd_strings_text(&f->recording->file, meta->value);
}

/* Each device has its own pool, and errors of one do not affect the other. */
ABSORBS(two_devices)
{
    OPEN_GPU(f, gpu);
    CHECK(run(gpu) != 0);
    CHECK(cudaSetDevice(1) == 0);
    CHECK(run(gpu) != 0);
    standin_fail("cudaEventRecord", 1, 719, 0);
    EQUAL(run(gpu), 0);
    CHECK(cudaSetDevice(0) == 0);
    CHECK(run(gpu) != 0);
    fd_gpu_drain(gpu, true);
    CHECK(!fd_gpu_wait(gpu, 100));
    fd_gpu_close(gpu);
    FIELDS(gpu, (devices[1]->error, 719), (devices[0]->error, 0),
           (devices[0]->timestamps, 4), (devices[1]->timestamps, 2));
    HAS(note(&f), "{\"device\":0,\"streams\":1,\"marks\":4");
    HAS(note(&f), "cudaEventRecord failed with error 719");
    EQUAL(cudaPeekAtLastError(), 0);
}

/* A runtime without a driver fails at the first call. */
ABSORBS(no_device)
{
    OPEN_GPU(f, gpu);
    standin_devices(0);
    CHECK(fd_gpu_current(gpu) == NULL);
    fd_gpu_drain(gpu, true);
    CHECK(!fd_gpu_wait(gpu, 5));
    EQUAL(standin_sleeps(""), 0);
    EQUAL(cudaPeekAtLastError(), 0);
    fd_gpu_close(gpu);
    SAME(note(&f), "{\"library\":\"libcudart.so.13\",\"devices\":[]}");
    standin_devices(2);
}

/* The wait for a GPU that does not finish is bounded. */
ABSORBS(gives_up)
{
    OPEN_GPU(f, gpu);
    CHECK(run(gpu) != 0);
    standin_launch(NULL, UINT64_C(3600000000000));
    CHECK(run(gpu) != 0);
    fd_gpu_drain(gpu, true);
    EQUAL(standin_sleeps(""), 0);
    CHECK(fd_gpu_wait(gpu, 5));
    EQUAL(standin_sleeps(""), 5);
    fd_gpu_close(gpu);
    EQUAL(standin_sleeps(""), 5);
    EQUAL(run(gpu), 0);
    EQUAL(
        fd_file_header(&f.recording->file)->counters[FD_COUNT_GPU_UNFINISHED],
        1);
    EQUAL(standin_calls("cudaEventSynchronize"), 0);
}

/* Neither for an error of the program nor for an error of the recorder. */
ABSORBS(does_not_wait_behind_an_error)
{
    OPEN_GPU(f, gpu);
    CHECK(run(gpu) != 0);
    standin_launch(NULL, UINT64_C(3600000000000));
    CHECK(run(gpu) != 0);
    standin_leave_error(700);
    CHECK(!fd_gpu_wait(gpu, 1000));
    EQUAL(cudaGetLastError(), 700);
    standin_fail("cudaEventQuery", 1, 719, 1);
    CHECK(!fd_gpu_wait(gpu, 1000));
    EQUAL(standin_sleeps(""), 0);
    fd_gpu_close(gpu);
    standin_reset();
}

/* A thread inside CUDA has the lock of a device. */
ABSORBS(closes_beside_a_thread_inside_cuda)
{
    OPEN_GPU(f, gpu);
    CHECK(run(gpu) != 0);
    fd_gpu_device *device = fd_gpu_current(gpu);
    if (device != NULL) {
        pthread_mutex_lock(&device->lock);
        fd_gpu_close(gpu);
        pthread_mutex_unlock(&device->lock);
        CHECK(device->stuck);
        CHECK(strstr(note(&f), "a thread was inside the runtime") != NULL
              || check_refused());
    }
    EQUAL(standin_sleeps(""), 0);
    EQUAL(run(gpu), 0);
}
