#include "pipeline/planner/suffix_bounds.h"

#include "pipeline/cuts/bit_sets.h"

#include <math.h>

/* Take the minimum of the known bounds and of this stage before the rest. fmin
 * is too slow in this hot loop. */
static void
take(double *here, const double *rest, uint32_t count, fd_line line)
{
    for (uint32_t i = 0; i < count; i++) {
        double value = line.step + rest[i];
        value = value > line.busy ? value : line.busy;
        here[i] = value < here[i] ? value : here[i];
    }
}

/* Try the block from `start` to `state` on each number of machines. */
static void
try_block(fd_suffix_bounds *bounds, const fd_suffix_bounds_request *request,
          uint32_t start, uint32_t state)
{
    const fd_costs *costs = request->costs;
    uint32_t most = costs->straight ? 1 : bounds->machines;
    for (uint32_t used = 1; used <= most; used++) {
        fd_line lines[FD_LINES];
        fd_part part =
            fd_part_of(costs, request->states, (fd_block){start, state}, used);
        fd_part_lines(lines, &part, request->micro_batches, request->apart);
        if (costs->memory != FD_MEMORY_FREE
            && part.kept + part.saved > costs->capacity) {
            continue;
        }
        for (int line = 0; line < FD_LINES; line++) {
            if (lines[line].busy > request->cap) {
                continue;
            }
            take(fd_suffix_bounds_at(bounds, start, line) + used,
                 fd_suffix_bounds_at(bounds, state, line),
                 bounds->machines - used + 1, lines[line]);
        }
    }
}

static void
fill(fd_suffix_bounds *bounds, const fd_suffix_bounds_request *request,
     uint32_t start)
{
    const fd_states *states = request->states;
    uint32_t most = request->costs->straight ? 1 : bounds->machines;
    double before = start == FD_NO_STATE ? 0 : states->times[start];
    double slack = 1e-9 * states->times[states->count - 1];
    uint32_t from = fd_states_until(states, before - slack);
    for (uint32_t i = from; i < states->count; i++) {
        uint32_t state = states->by_time[i];
        double work = states->times[state] - before - slack;
        /* Half of the work, because parts of backward passes may not be
         * counted. */
        if (request->micro_batches * work / 2 > request->cap * most) {
            break;
        }
        if (start == FD_NO_STATE || fd_state_follows(states, start, state)) {
            try_block(bounds, request, start, state);
        }
    }
}

fd_status
fd_suffix_bounds_make(fd_suffix_bounds *bounds,
                      const fd_suffix_bounds_request *request)
{
    uint32_t count = request->states->count;
    bounds->machines = request->costs->machines[0];
    size_t size = ((size_t)count + 1) * (bounds->machines + 1) * FD_LINES;
    bounds->values = fd_malloc(size * sizeof *bounds->values);
    if (bounds->values == NULL) {
        return FD_ENOMEM;
    }
    for (size_t i = 0; i < size; i++) {
        bounds->values[i] = INFINITY;
    }
    uint32_t over = request->costs->fewer ? bounds->machines : 0;
    for (int line = 0; line < FD_LINES; line++) {
        for (uint32_t i = 0; i <= over; i++) {
            fd_suffix_bounds_at(bounds, count - 1, line)[i] = 0;
        }
    }
    for (uint32_t state = count - 1; state-- > 0;) {
        fill(bounds, request, state);
    }
    fill(bounds, request, FD_NO_STATE);
    return FD_OK;
}

void
fd_suffix_bounds_clear(fd_suffix_bounds *bounds)
{
    fd_free(bounds->values);
    *bounds = (fd_suffix_bounds){.machines = 0};
}
