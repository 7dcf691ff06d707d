#include "events/recorded/chrome_tracks.h"

#include "base/sums.h"
#include "events/recorded/side_tracks.h"
#include "events/writers/chrome_writer.h"

#include <string.h>

void
fd_chrome_row(fd_buffer *to, const fd_trace_rank *rank, const char *what,
              uint32_t tid, const char *text, size_t size)
{
    fd_buffer_format(to,
                     "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":"
                     "\"%s_name\",\"args\":{\"name\":",
                     rank->rank + 1, tid, what);
    fd_buffer_json(to, text, size);
    fd_buffer_text(to, "}}");
}

void
fd_chrome_place(fd_buffer *to, const fd_trace_rank *rank, const char *what,
                uint32_t tid, uint32_t place)
{
    fd_buffer_format(to,
                     ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":"
                     "\"%s_sort_index\",\"args\":{\"sort_index\":%u}}",
                     rank->rank + 1, tid, what, place);
}

static int64_t
shown(const fd_chrome_tracks *tracks, uint64_t time)
{
    return fd_clock_apply(tracks->clock, (int64_t)time);
}

static fd_status
write_phases(const fd_chrome_tracks *tracks, fd_buffer *to)
{
    fd_phase_slices slices = {NULL, 0, 0};
    uint32_t pid = tracks->rank->rank + 1;
    fd_status status = fd_phase_slices_make(&slices, tracks->rank);
    if (slices.count > 0) {
        static const char name[] = "Time by phase";
        fd_buffer_text(to, ",\n");
        fd_chrome_row(to, tracks->rank, "thread", tracks->phases, name,
                      sizeof name - 1);
        fd_chrome_place(to, tracks->rank, "thread", tracks->phases,
                        tracks->place);
    }
    for (uint32_t i = 0; i < slices.count; i++) {
        const fd_phase_slice *slice = &slices.list[i];
        int64_t start = shown(tracks, slice->start);
        fd_buffer_format(to,
                         ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", pid,
                         tracks->phases);
        fd_chrome_us(to, start);
        fd_buffer_text(to, ",\"dur\":");
        fd_chrome_us(to, fd_minus(shown(tracks, slice->end), start));
        fd_buffer_format(to, ",\"name\":\"phase: %s\",\"cat\":\"phase\"}",
                         slice->name);
    }
    fd_vector_clear(&slices);
    return status;
}

static void
write_value(const fd_chrome_tracks *tracks, const char *name,
            const fd_counter_value *value, fd_buffer *to)
{
    fd_buffer_format(to, ",\n{\"ph\":\"C\",\"pid\":%u,\"tid\":0,\"ts\":",
                     tracks->rank->rank + 1);
    fd_chrome_us(to, shown(tracks, value->time));
    fd_buffer_text(to, ",\"name\":");
    fd_buffer_json(to, name, strlen(name));
    fd_buffer_text(to, ",\"args\":{\"value\":");
    fd_buffer_u64(to, value->value);
    fd_buffer_text(to, "}}");
}

static fd_status
write_counters(const fd_chrome_tracks *tracks, fd_buffer *to)
{
    char name[FD_COUNTER_NAME];
    fd_counter_values flights = {NULL, 0, 0};
    fd_counter_values lost = {NULL, 0, 0};
    fd_status status = fd_counter_in_flight(&flights, tracks->rank);
    if (status == FD_OK) {
        status = fd_counter_lost(&lost, tracks->rank);
    }
    for (uint32_t i = 0; i < flights.count; i++) {
        fd_counter_in_flight_name(flights.list[i].of, name);
        write_value(tracks, name, &flights.list[i], to);
    }
    for (uint32_t i = 0; i < lost.count; i++) {
        fd_counter_lost_name(tracks->trace, tracks->rank, lost.list[i].of,
                             name);
        write_value(tracks, name, &lost.list[i], to);
    }
    fd_vector_clear(&flights);
    fd_vector_clear(&lost);
    return status;
}

fd_status
fd_chrome_tracks_write(const fd_chrome_tracks *tracks, fd_buffer *to)
{
    fd_status status = write_phases(tracks, to);
    return status == FD_OK ? write_counters(tracks, to) : status;
}
