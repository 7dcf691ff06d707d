#include "trace/export_options.h"
#include "trace/rank_facts.h"

static void
write_known(fd_buffer *to, const char *name, bool known, int64_t ns)
{
    if (known) {
        fd_buffer_format(to, ",\"%s\":%lld", name, (long long)ns);
    }
    else {
        fd_buffer_format(to, ",\"%s\":null", name);
    }
}

void
fd_export_write_clocks(const fd_trace *trace, const fd_export_options *options,
                       fd_buffer *to)
{
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        const fd_export_clock *clock = &options->clocks[i];
        int64_t drift = clock->map.drift_ppt;
        fd_buffer_format(
            to,
            "%s\n{\"rank\":%u,\"align\":\"%s\",\"offset_ns\":%lld,"
            "\"at_ns\":%lld,\"drift_ppb\":%s%lld.%03lld",
            i > 0 ? "," : "\"ranks\":[", (unsigned)trace->ranks.list[i].rank,
            clock->method, (long long)clock->map.offset_ns,
            (long long)clock->map.at_ns, drift < 0 ? "-" : "",
            (long long)(drift < 0 ? -drift : drift) / 1000,
            (long long)(drift < 0 ? -drift : drift) % 1000);
        write_known(to, "uncertainty_ns",
                    clock->uncertainty_ns != FD_CLOCK_UNKNOWN,
                    clock->uncertainty_ns);
        write_known(to, "residual_ns", clock->has_residual,
                    clock->residual_ns);
        fd_buffer_format(to, ",\"violations\":%llu}",
                         (unsigned long long)clock->violations);
    }
    fd_buffer_text(to, "\n],\n");
}

fd_clock_map
fd_export_clock_of(const fd_trace *trace, const fd_export_options *options,
                   uint32_t rank)
{
    const fd_trace_rank *of = &trace->ranks.list[rank];
    return options->clocks != NULL
             ? options->clocks[rank].map
             : (fd_clock_map){.offset_ns = fd_rank_offset(trace, of)
                                         - fd_first_offset(trace)};
}

void
fd_export_clock_label(const fd_export_clock *clock, fd_buffer *to)
{
    fd_buffer_format(to, "clock %s: offset %lld ns, drift %lld ppb",
                     clock->method, (long long)clock->map.offset_ns,
                     (long long)clock->map.drift_ppt / 1000);
    if (clock->uncertainty_ns != FD_CLOCK_UNKNOWN) {
        fd_buffer_format(to, ", within %lld ns",
                         (long long)clock->uncertainty_ns);
    }
    if (clock->has_residual) {
        fd_buffer_format(to, ", residual %lld ns",
                         (long long)clock->residual_ns);
    }
}
