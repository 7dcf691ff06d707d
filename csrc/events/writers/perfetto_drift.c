#include "events/writers/perfetto_drift.h"

#include "events/perfetto_packets.h"
#include "events/readers/perfetto_tables.h"

static fd_status
collect_times(fd_perfetto_drift *d, fd_packets *packets)
{
    fd_perfetto_tables tables = {.has_base = false};
    fd_perfetto_packet packet;
    fd_status status = FD_OK;
    while (status == FD_OK && fd_packets_next(packets)) {
        status = fd_perfetto_tables_take(&tables, packets->bytes,
                                         packets->size, &packet);
        if (status == FD_OK && packet.has_time && !packet.lost
            && packet.time >= 0 && fd_clock_apply(&d->map, packet.time) >= 0) {
            status = fd_sorter_add(d->times, packet.time, 0, "", 1, d->error);
        }
        status = status == FD_EFORMAT ? FD_OK : status;
    }
    fd_perfetto_tables_clear(&tables);
    return status == FD_OK ? packets->status : status;
}

fd_status
fd_perfetto_drift_open(fd_perfetto_drift *d, const fd_perfetto_clock *clock,
                       const char *path, const char *output, fd_error *error)
{
    fd_packets packets;
    *d = (fd_perfetto_drift){
        .map = clock->map, .step_ns = clock->step_ns, .error = error};
    d->times = fd_sorter_new(output, FD_SORTER_BUDGET);
    if (d->times == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = fd_packets_open(&packets, path, error);
    if (status == FD_OK) {
        status = collect_times(d, &packets);
    }
    fd_packets_close(&packets);
    return status;
}

void
fd_perfetto_drift_close(fd_perfetto_drift *d)
{
    fd_sorter_free(d->times);
    d->times = NULL;
}

static bool
changes(fd_perfetto_drift *d, int64_t own)
{
    if (d->begun) {
        return fd_clock_steps_change(&d->steps, own);
    }
    d->begun = true;
    d->steps = fd_clock_steps_begin(&d->map, d->step_ns, own);
    return true;
}

bool
fd_perfetto_drift_next(fd_perfetto_drift *d, int64_t *own, int64_t *offset,
                       fd_status *status)
{
    fd_sorted item;
    *status = FD_OK;
    while (d->times != NULL
           && (*status = fd_sorter_next(d->times, &item, d->error)) == FD_OK
           && item.bytes != NULL) {
        if (changes(d, item.key)) {
            *own = item.key;
            *offset = d->steps.offset_ns;
            return true;
        }
    }
    fd_perfetto_drift_close(d);
    return false;
}
