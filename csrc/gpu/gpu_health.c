#include "gpu/gpu_health.h"

#include "base/clock.h"
#include "json/json_writer.h"

#include <dlfcn.h>
#include <string.h>

enum {
    SUCCESS = 0,
    NO_ATTACH = 2, /* initialise without all GPUs of the machine */
    SM_CLOCK = 1,
    TEMPERATURE = 0,
    SINCE_START = 0, /* counters of ECC */
    XID_EVENT = 8,
    IDLE = 1, /* bit of the reasons for a clock */
    BUS_ID = 32
};

/* All of them exist since the driver 450. */
static const char *const names[] = {
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlEventSetCreate",
    "nvmlDeviceRegisterEvents",
    "nvmlEventSetWait_v2",
    "nvmlEventSetFree",
};

_Static_assert(sizeof names / sizeof *names * sizeof(void *)
                   == sizeof(fd_nvml),
               "a name per function");

/* Fill in the table and initialise NVML. The library stays loaded. Return
 * whether it can be used. */
static bool
nvml_starts(fd_nvml *table)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *address = library == NULL ? NULL : dlsym(library, names[i]);
        if (address == NULL) {
            return false;
        }
        memcpy((char *)table + i * sizeof address, &address, sizeof address);
    }
    return table->start(NO_ATTACH) == SUCCESS;
}

/* Numbers of devices in CUDA and in NVML differ: addresses do not. */
static bool
device_has_bus_id(int number, char id[BUS_ID])
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*get)(int *device, int number) = NULL;
    int (*bus_id)(char *id, int size, int device) = NULL;
    int device = 0;
    if (driver == NULL) {
        return false;
    }
    void *addresses[] = {dlsym(driver, "cuDeviceGet"),
                         dlsym(driver, "cuDeviceGetPCIBusId")};
    memcpy(&get, &addresses[0], sizeof get);
    memcpy(&bus_id, &addresses[1], sizeof bus_id);
    bool found = get != NULL && bus_id != NULL
              && get(&device, number) == SUCCESS
              && bus_id(id, BUS_ID, device) == SUCCESS;
    dlclose(driver); /* the program has opened it, too */
    return found;
}

static void
find_device(fd_gpu_health *health, const fd_nvml *table, uint32_t number)
{
    fd_device_health *device = &health->devices[number];
    char id[BUS_ID] = "";
    device->found = true;
    if (!device_has_bus_id((int)number, id)
        || table->by_bus_id(id, &device->handle) != SUCCESS) {
        device->handle = NULL;
        return;
    }
    if (health->events != NULL) {
        table->want_events(device->handle, XID_EVENT, health->events);
    }
}

static void
read_errors(fd_device_health *device, const fd_nvml *table)
{
    unsigned long long counts[2];
    for (int kind = 0; kind < 2; kind++) {
        if (table->errors(device->handle, kind, SINCE_START, &counts[kind])
            != SUCCESS) {
            return;
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        device->latest[kind] = counts[kind];
        if (!device->counts_errors || counts[kind] < device->errors[kind]) {
            device->errors[kind] = counts[kind]; /* or they were reset */
        }
    }
    device->counts_errors = true;
}

static void
read_device(fd_device_health *device, const fd_nvml *table)
{
    unsigned long long reasons = 0;
    unsigned int clock = 0;
    unsigned int power = 0;
    unsigned int celsius = 0;
    void *handle = device->handle;
    read_errors(device, table);
    if (table->reasons(handle, &reasons) != SUCCESS
        || table->clock(handle, SM_CLOCK, &clock) != SUCCESS) {
        return;
    }
    if ((reasons & IDLE) != 0) {
        device->idle++;
        return;
    }
    table->highest(handle, SM_CLOCK, &device->highest);
    if (table->power(handle, &power) == SUCCESS) {
        table->limit(handle, &device->limit);
    }
    table->temperature(handle, TEMPERATURE, &celsius);
    device->looks++;
    device->clock += clock;
    device->power += power;
    device->temperature =
        celsius > device->temperature ? celsius : device->temperature;
    for (int bit = 0; bit < FD_HEALTH_REASONS; bit++) {
        device->reasons[bit] += (uint32_t)(reasons >> bit) & 1;
    }
}

/* Read the errors that came since the latest look; waits for none. */
static void
read_xids(fd_gpu_health *health, const fd_nvml *table)
{
    fd_nvml_event event = {.type = 0};
    for (int i = 0; i < FD_HEALTH_DEVICES && health->events != NULL
                    && table->next_event(health->events, &event, 0) == SUCCESS;
         i++) {
        if (event.type == XID_EVENT) {
            if (health->xids < FD_HEALTH_XIDS) {
                health->xid[health->xids] = event.data;
            }
            health->xids++;
        }
    }
}

void
fd_gpu_health_look(fd_gpu_health *health, uint64_t now)
{
    bool seen = false;
    for (int i = 0; i < FD_HEALTH_DEVICES; i++) {
        seen |= health->devices[i].seen;
    }
    if (!seen
        || (health->looked != 0
            && (double)(now - health->looked) < fd_clock_hertz())) {
        return;
    }
    const fd_nvml *table = &health->nvml;
    if (health->looked == 0) {
        health->started = nvml_starts(&health->nvml);
        if (!health->started
            || table->new_events(&health->events) != SUCCESS) {
            health->events = NULL;
        }
    }
    health->looked = now;
    for (uint32_t i = 0; health->started && i < FD_HEALTH_DEVICES; i++) {
        fd_device_health *device = &health->devices[i];
        if (device->seen && !device->found) {
            find_device(health, table, i);
        }
        if (device->handle != NULL) {
            read_device(device, table);
        }
    }
    read_xids(health, table);
}

/* Names of NVML's reasons by bit. */
static const char *const reasons[FD_HEALTH_REASONS] = {
    "idle",       "clocks_setting", "power_cap",        "hardware_slowdown",
    "sync_boost", "thermal",        "hardware_thermal", "power_brake",
    "display"};

static void
put_device(fd_json_writer *w, const fd_device_health *device, uint32_t number)
{
    uint64_t looks = device->looks;
    fd_json_begin_object(w, NULL);
    fd_json_put_u64(w, "device", number);
    fd_json_put_u64(w, "looks", looks);
    fd_json_put_u64(w, "idle", device->idle);
    fd_json_put_u64(w, "clock_mhz", looks == 0 ? 0 : device->clock / looks);
    fd_json_put_u64(w, "highest_mhz", device->highest);
    fd_json_put_u64(w, "power_mw", looks == 0 ? 0 : device->power / looks);
    fd_json_put_u64(w, "limit_mw", device->limit);
    fd_json_put_u64(w, "celsius", device->temperature);
    fd_json_begin_object(w, "reasons");
    for (int bit = 0; bit < FD_HEALTH_REASONS; bit++) {
        if (device->reasons[bit] != 0) {
            fd_json_put_u64(w, reasons[bit], device->reasons[bit]);
        }
    }
    fd_json_end_object(w);
    if (device->counts_errors) {
        fd_json_put_u64(w, "ecc_corrected",
                        device->latest[0] - device->errors[0]);
        fd_json_put_u64(w, "ecc_uncorrected",
                        device->latest[1] - device->errors[1]);
    }
    fd_json_end_object(w);
}

static void
note_health(const fd_gpu_health *health, fd_recording *recording)
{
    fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    fd_json_begin_object(&w, NULL);
    fd_json_begin_array(&w, "devices");
    for (uint32_t i = 0; i < FD_HEALTH_DEVICES; i++) {
        if (health->devices[i].handle != NULL) {
            put_device(&w, &health->devices[i], i);
        }
    }
    fd_json_end_array(&w);
    fd_json_put_u64(&w, "xids", health->xids);
    fd_json_begin_array(&w, "xid");
    for (uint32_t i = 0; i < health->xids && i < FD_HEALTH_XIDS; i++) {
        fd_json_put_u64(&w, NULL, health->xid[i]);
    }
    fd_json_end_array(&w);
    fd_json_end_object(&w);
    fd_buffer_bytes(&text, "", 1); /* terminating NUL */
    if (text.status == FD_OK) {
        fd_recording_note(recording, "gpu_health", text.bytes);
    }
    fd_buffer_clear(&text);
}

void
fd_gpu_health_close(fd_gpu_health *health, fd_recording *recording)
{
    if (health->started) {
        note_health(health, recording);
        if (health->events != NULL) {
            health->nvml.free_events(health->events);
        }
        health->nvml.shutdown();
    }
    *health = (fd_gpu_health){.started = false};
}
