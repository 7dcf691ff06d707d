/* Clocks, power and errors of GPUs through NVML, which is a part of the
 * driver: no headers and no library are needed. One look per second, on the
 * thread of the kernel collector, while a recorded step runs. */
#ifndef FD_GPU_HEALTH_H
#define FD_GPU_HEALTH_H

#include "recording/recording.h"

enum { FD_HEALTH_DEVICES = 16, FD_HEALTH_REASONS = 9, FD_HEALTH_XIDS = 4 };

typedef struct fd_nvml_event {
    void *device;
    unsigned long long type;
    unsigned long long data;
    unsigned int instances[2];
} fd_nvml_event;

/* Functions of NVML. */
typedef struct fd_nvml {
    int (*start)(unsigned int flags);
    int (*shutdown)(void);
    int (*by_bus_id)(const char *id, void **device);
    int (*reasons)(void *device, unsigned long long *reasons);
    int (*clock)(void *device, int kind, unsigned int *mhz);
    int (*highest)(void *device, int kind, unsigned int *mhz);
    int (*power)(void *device, unsigned int *mw);
    int (*limit)(void *device, unsigned int *mw);
    int (*temperature)(void *device, int sensor, unsigned int *celsius);
    int (*errors)(void *device, int kind, int since,
                  unsigned long long *count);
    int (*new_events)(void **events);
    int (*want_events)(void *device, unsigned long long kinds, void *events);
    int (*next_event)(void *events, fd_nvml_event *event, unsigned int ms);
    int (*free_events)(void *events);
} fd_nvml;

typedef struct fd_device_health {
    void *handle;   /* of NVML; NULL: unknown */
    bool seen;      /* it ran a kernel */
    bool found;     /* whether the handle was searched */
    uint32_t idle;  /* looks at which it had no work, in none of the sums */
    uint32_t looks; /* the others */
    uint64_t clock; /* of the SMs, MHz: sum, highest possible */
    uint32_t highest;
    uint64_t power; /* mW: sum, limit */
    uint32_t limit;
    uint32_t temperature;                /* highest, degrees Celsius */
    uint32_t reasons[FD_HEALTH_REASONS]; /* looks by bit of NVML's reasons */
    bool counts_errors;
    uint64_t errors[2]; /* of ECC at the first look: corrected, not */
    uint64_t latest[2]; /* and at the latest one */
} fd_device_health;

typedef struct fd_gpu_health {
    fd_nvml nvml;
    bool started;    /* whether NVML can be used */
    uint64_t looked; /* tick of the latest look; 0: none */
    void *events;    /* set of NVML; NULL: none */
    uint32_t xids;   /* number of Xid errors, and the first ones */
    uint64_t xid[FD_HEALTH_XIDS];
    fd_device_health devices[FD_HEALTH_DEVICES];
} fd_gpu_health;

/* Note that a device ran a kernel, by its number in CUDA. */
static inline void
fd_gpu_health_see(fd_gpu_health *health, uint32_t device)
{
    if (device < FD_HEALTH_DEVICES) {
        health->devices[device].seen = true;
    }
}

/* Look at the devices that ran kernels, unless the latest look was less than a
 * second ago. */
void fd_gpu_health_look(fd_gpu_health *health, uint64_t now);

/* Note the result in the recording, if there was a look, and release NVML. */
void fd_gpu_health_close(fd_gpu_health *health, fd_recording *recording);

#endif
