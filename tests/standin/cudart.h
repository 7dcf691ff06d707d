/* What a test can tell the stand-in CUDA runtime (cudart.c) beside calling it
 * as CUDA. Python reaches the same functions through ctypes. */
#ifndef STANDIN_CUDART_H
#define STANDIN_CUDART_H

#include <stdint.h>

/* Back to the beginning: two devices, no error, no call logged. The clock is
 * CLOCK_MONOTONIC until standin_clock sets one. */
void standin_reset(void);

/* A clock that only standin_pass and polling move, from `ns` on. */
void standin_clock(uint64_t ns);
void standin_pass(uint64_t ns);
uint64_t standin_now(void);

void standin_devices(int count);
void standin_drift(int device, double ppm); /* of its clock */
void standin_latency(uint64_t ns); /* from a call to the GPU's seeing it */
void standin_price(uint64_t ns);   /* of cudaEventQuery on a clock of ours */

/* A kernel of so many ns on the stream. */
void standin_launch(void *stream, uint64_t ns);

/* 1: being captured, 0: not. The mode is global: unsafe calls of a thread that
 * has not relaxed its own mode end it. */
void standin_capture(void *stream, int status);
int standin_capture_of(void *stream);

/* The nth call of `function` from now on answers `error`; sticky: all later
 * calls do. */
void standin_fail(const char *function, int nth, int error, int sticky);

/* The program's own error, waiting for its cudaGetLastError. */
void standin_leave_error(int error);

uint64_t standin_calls(const char *function); /* so far */

/* How often code of a library whose path contains `library` ("": any) slept.
 * Counted only where the stand-in is linked or preloaded. */
uint64_t standin_sleeps(const char *library);

/* CUDA itself, as much as there is of it. */
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
