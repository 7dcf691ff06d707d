#include "events/recorded/between_ranks.h"

#include "trace/reader/recording_reader.h"

typedef struct finding {
    fd_transfers_search search;
    fd_timeline_between *made;
    bool any; /* some rank has transfers */
} finding;

static fd_status
add_recording(finding *f, const fd_timeline_input *input, uint32_t index,
              fd_error *error)
{
    fd_trace *trace = NULL;
    fd_transfers_window window = {.clock = input->clock.map,
                                  .begin = input->begin_ns,
                                  .end = input->end_ns};
    fd_status status = fd_reader_read(&trace, input->path, false, error);
    if (status == FD_OK && trace->ranks.list[0].jobs.count > 0) {
        bool moves = fd_transfers_any(trace, &trace->ranks.list[0]);
        f->any = f->any || moves;
        if (moves) {
            fd_trace_free(trace);
            trace = NULL;
            status = fd_reader_read(&trace, input->path, true, error);
        }
        if (status == FD_OK) {
            status = fd_transfers_add(&f->search, trace, &trace->ranks.list[0],
                                      &window);
            f->made->indexes[index] = f->search.ranks.count;
        }
    }
    fd_trace_free(trace);
    return status;
}

static fd_status
add_all(finding *f, const fd_timeline_input *inputs, uint32_t count,
        fd_error *error)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        if (inputs[i].recording) {
            status = add_recording(f, &inputs[i], i, error);
        }
    }
    return status;
}

fd_status
fd_timeline_between_find(fd_timeline_between *between,
                         const fd_timeline_input *inputs, uint32_t count,
                         fd_error *error)
{
    finding f = {.made = between};
    *between = (fd_timeline_between){.indexes = NULL};
    between->indexes = fd_calloc((size_t)count + 1, sizeof *between->indexes);
    fd_status status = between->indexes == NULL
                         ? FD_ENOMEM
                         : add_all(&f, inputs, count, error);
    if (status == FD_OK && f.any) {
        status = fd_transfers_find(&between->transfers, &f.search);
    }
    if (status != FD_OK || !f.any) {
        fd_timeline_between_clear(between);
    }
    fd_transfers_search_clear(&f.search);
    return status;
}

void
fd_timeline_between_clear(fd_timeline_between *between)
{
    fd_transfers_clear(&between->transfers);
    fd_free(between->indexes);
    *between = (fd_timeline_between){.indexes = NULL};
}

bool
fd_timeline_between_of(const fd_timeline_between *between, uint32_t input,
                       fd_transfers *transfers)
{
    if (between->indexes == NULL || between->indexes[input] == 0) {
        return false;
    }
    *transfers = (fd_transfers){
        .ends = between->transfers.ends,
        .first = &between->transfers.first[between->indexes[input] - 1],
        .lent = true};
    return true;
}
