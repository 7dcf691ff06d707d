#include "fixtures.h"

#include "gpu/gpu_figures.h"

static const fd_gpu_record *
record(const fd_gpu_figures *figures, uint32_t at)
{
    const fd_gpu_record *records = fd_chunk_records(figures->pool.chunk);
    return &records[at];
}

#define FIGURES(figures, f) \
    CLEAN(fd_gpu_figures_clear) fd_gpu_figures figures; \
    fd_gpu_figures_init(&figures, f.recording)

/* One record per context, whichever interval is first. */
ABSORBS(adds_up)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    fd_gpu_sample sample = {.event = {.context = 100},
                            .total = 30,
                            .self = 10,
                            .launch_bound = true};
    fd_gpu_figures_add(&figures, &sample);
    sample.launch_bound = false;
    fd_gpu_figures_add(&figures, &sample);
    EQUAL(figures.pool.count, 1);
    FIELDS(record(&figures, 0), (calls, 2), (total, 60), (self, 20),
           (launch_bound, 1));
    EQUAL(figures.events.ended, 0);
}
