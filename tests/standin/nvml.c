/* Substitutes for NVML and for the functions of the CUDA driver that name the
 * address of a device. There are two GPUs, whose numbers differ: CUDA's 0 is
 * the second one, which the tests change. */
#include "nvml.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, UNKNOWN = 6, TIMEOUT = 10 };

static const char first[] = "0000:17:00.0";
static const char second[] = "0000:65:00.0";

static struct {
    unsigned int clock;
    unsigned int power;
    unsigned long long reasons;
    unsigned long long corrected;
    unsigned long long xid;
    int initialised;
    int looks;
} state;

void
standin_nvml_set(unsigned int clock, unsigned int power,
                 unsigned long long reasons)
{
    state.clock = clock;
    state.power = power;
    state.reasons = reasons;
}

void
standin_nvml_error(unsigned long long xid, unsigned long long corrected)
{
    state.xid = xid;
    state.corrected += corrected;
}

int
standin_nvml_initialised(void)
{
    return state.initialised;
}

int
standin_nvml_looks(void)
{
    return state.looks;
}

int
cuDeviceGet(int *device, int number)
{
    *device = number;
    return number == 0 ? SUCCESS : UNKNOWN;
}

int
cuDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "%s", device == 0 ? second : first);
    return SUCCESS;
}

int
nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    state.initialised++;
    return SUCCESS;
}

int
nvmlShutdown(void)
{
    state.initialised--;
    return SUCCESS;
}

int
nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    *device = strcmp(id, second) == 0 ? (void *)second : NULL;
    return *device != NULL ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetCurrentClocksThrottleReasons(void *device,
                                          unsigned long long *reasons)
{
    *reasons = state.reasons;
    return device == second ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetClockInfo(void *device, int kind, unsigned int *mhz)
{
    *mhz = state.clock;
    state.looks++;
    return device == second && kind == 1 ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned int *mhz)
{
    *mhz = 1980;
    return device == second && kind == 1 ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetPowerUsage(void *device, unsigned int *mw)
{
    *mw = state.power;
    return device == second ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *mw)
{
    *mw = 700000;
    return device == second ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *celsius)
{
    *celsius = 71;
    return device == second && sensor == 0 ? SUCCESS : UNKNOWN;
}

int
nvmlDeviceGetTotalEccErrors(void *device, int kind, int since,
                            unsigned long long *count)
{
    *count = kind == 0 ? state.corrected : 0;
    return device == second && since == 0 ? SUCCESS : UNKNOWN;
}

int
nvmlEventSetCreate(void **events)
{
    *events = &state;
    return SUCCESS;
}

int
nvmlDeviceRegisterEvents(void *device, unsigned long long kinds, void *events)
{
    return device == second && kinds == 8 && events == &state ? SUCCESS
                                                              : UNKNOWN;
}

typedef struct event {
    void *device;
    unsigned long long type;
    unsigned long long data;
    unsigned int instances[2];
} event;

int
nvmlEventSetWait_v2(void *events, event *found, unsigned int ms)
{
    if (state.xid == 0 || events != &state || ms != 0) {
        return TIMEOUT;
    }
    *found = (event){.type = 8, .data = state.xid};
    state.xid = 0;
    return SUCCESS;
}

int
nvmlEventSetFree(void *events)
{
    return events == &state ? SUCCESS : UNKNOWN;
}
