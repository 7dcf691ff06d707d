#include "trace/export_options.h"

#include "trace/trace.h"
#include "json/decimal.h"
#include "json/json_writer.h"

/* Write null if the value is not known. */
static void
put_known(fd_json_writer *w, const char *key, bool known, int64_t value)
{
    known ? fd_json_put_i64(w, key, value) : fd_json_put_null(w, key);
}

void
fd_export_write_clock(fd_json_writer *w, const fd_rank_clock *clock)
{
    fd_json_put_text(w, "align", clock->method);
    fd_json_put_i64(w, "offset_ns", clock->map.offset_ns);
    fd_json_put_i64(w, "at_ns", clock->map.at_ns);
    fd_decimal_milli(clock->map.drift_ppt, fd_json_put(w, "drift_ppb"));
    put_known(w, "uncertainty_ns", clock->uncertainty_ns != FD_CLOCK_UNKNOWN,
              clock->uncertainty_ns);
    put_known(w, "residual_ns", clock->has_residual, clock->residual_ns);
    fd_json_put_u64(w, "violations", clock->violations);
}

void
fd_export_write_clocks(const fd_trace *trace, const fd_export_options *options,
                       fd_json_writer *w)
{
    fd_json_line(w);
    fd_json_begin_array(w, "ranks");
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_json_line(w);
        fd_json_begin_object(w, NULL);
        fd_json_put_u64(w, "rank", trace->ranks.list[i].rank);
        fd_export_write_clock(w, &options->clocks[i]);
        fd_json_end_object(w);
    }
    fd_json_line(w);
    fd_json_end_array(w);
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
fd_export_clock_label(const fd_rank_clock *clock, fd_buffer *to)
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
