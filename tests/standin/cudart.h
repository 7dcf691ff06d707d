/* Functions of the stand-in CUDA runtime (cudart.c) for tests. Python calls
 * them through ctypes. */
#ifndef STANDIN_CUDART_H
#define STANDIN_CUDART_H

#include <stdint.h>

/* Reset: two devices, no error, no logged call. The clock is CLOCK_MONOTONIC
 * until standin_clock sets another one. */
void standin_reset(void);

/* Use a clock that starts at `ns`, and that only standin_pass and polling
 * advance. */
void standin_clock(uint64_t ns);
void standin_pass(uint64_t ns);
uint64_t standin_now(void);

void standin_devices(int count);
void standin_drift(int device, double ppm); /* of its clock */
void standin_latency(uint64_t ns); /* from a call to its effect on the GPU */

/* Launch a kernel of `ns` on the stream. */
void standin_launch(void *stream, uint64_t ns);

/* Begin (1) or end (0) a capture in the global mode: unsafe calls of a thread
 * that has not relaxed its own mode invalidate it. */
void standin_capture(void *stream, int status);
int standin_capture_of(void *stream);

/* Let the nth call of `function` from now on return `error`; sticky: also all
 * later calls. */
void standin_fail(const char *function, int nth, int error, int sticky);

/* Set a pending error of the program. */
void standin_leave_error(int error);

uint64_t standin_calls(const char *function); /* so far */

/* The number of sleeps by code of a library whose path contains `library`
 * ("": any). Counted only if the stand-in is linked or preloaded. */
uint64_t standin_sleeps(const char *library);

/* The implemented functions of CUDA. */
typedef void *cuda_event;
typedef void *cuda_stream;
int cudaEventCreateWithFlags(cuda_event *event, unsigned int flags);
int cudaEventRecord(cuda_event event, cuda_stream stream);
int cudaEventQuery(cuda_event event);
int cudaEventSynchronize(cuda_event event);
int cudaEventElapsedTime(float *ms, cuda_event from, cuda_event to);
int cudaEventDestroy(cuda_event event);
int cudaStreamCreateWithFlags(cuda_stream *stream, unsigned int flags);
int cudaStreamDestroy(cuda_stream stream);
int cudaStreamSynchronize(cuda_stream stream);
int cudaStreamIsCapturing(cuda_stream stream, int *status);
int cudaDeviceSynchronize(void);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaThreadExchangeStreamCaptureMode(int *mode);
int cudaPeekAtLastError(void);
int cudaGetLastError(void);

#endif
