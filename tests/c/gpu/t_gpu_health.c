#include "fixtures.h"

#include "gpu/gpu_health.h"
#include "standin/nvml.h"

#include <dlfcn.h>

/* Look at the devices a second later. */
static void
look(fd_gpu_health *health, uint64_t *now)
{
    *now += 1 + (uint64_t)fd_clock_hertz();
    fd_gpu_health_look(health, *now);
}

TEST(a_device_with_a_low_clock)
{
    FIXTURE(f, NULL, 4);
    check_clock(0);
    uint64_t now = 1;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY); /* of the program */
    fd_gpu_health health = {.started = false};
    look(&health, &now);
    CHECK(standin_nvml_initialised() == 0); /* no device ran a kernel */
    fd_gpu_health_see(&health, 0);
    fd_gpu_health_see(&health, 1); /* not known to NVML */
    fd_gpu_health_see(&health, FD_HEALTH_DEVICES);
    standin_nvml_set(1980, 500000, 0);
    look(&health, &now);
    CHECK(standin_nvml_initialised() == 1);
    standin_nvml_set(1200, 700000, 4);
    standin_nvml_error(79, 3);
    look(&health, &now);
    fd_gpu_health_look(&health, now + 1); /* too early */
    standin_nvml_set(300, 90000, 1);
    look(&health, &now);
    const fd_device_health *device = &health.devices[0];
    FIELDS(device, (looks, 2), (idle, 1), (clock, 1980 + 1200),
           (highest, 1980), (power, 1200000), (limit, 700000),
           (temperature, 71), (reasons[2], 1), (reasons[0], 0));
    EQUAL(device->latest[0] - device->errors[0], 3);
    FIELDS(&health, (xids, 1), (xid[0], 79), (devices[1].looks, 0));
    fd_gpu_health_close(&health, f.recording);
    CHECK(standin_nvml_initialised() == 0);
    CHECK(!health.started);
    dlclose(driver);
}
