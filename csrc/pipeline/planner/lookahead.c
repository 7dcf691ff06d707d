#include "pipeline/planner/lookahead.h"

#include "pipeline/planner/bit_sets.h"

#include <math.h>

/* The least of what is known and of this stage with what is behind it; a hot
 * loop, for which fmin is too slow. */
static void
take(double *here, const double *rest, uint32_t count, fd_line line)
{
    for (uint32_t i = 0; i < count; i++) {
        double value = line.step + rest[i];
        value = value > line.busy ? value : line.busy;
        here[i] = value < here[i] ? value : here[i];
    }
}

/* All ways to go on from `start` with a block up to `state`. */
static void
try_block(fd_lookahead *ahead, const fd_lookahead_request *request,
          uint32_t start, uint32_t state)
{
    const fd_costs *costs = request->costs;
    uint32_t most = costs->straight ? 1 : ahead->machines;
    for (uint32_t used = 1; used <= most; used++) {
        fd_line lines[FD_LINES];
        fd_part part =
            fd_part_of(costs, request->states, (fd_block){start, state}, used);
        fd_part_lines(lines, &part, request->micro_batches, request->apart);
        if (costs->memory != FD_MEMORY_FREE
            && part.kept + part.saved > costs->room) {
            continue;
        }
        for (int line = 0; line < FD_LINES; line++) {
            if (lines[line].busy > request->cap) {
                continue;
            }
            take(fd_lookahead_at(ahead, start, line) + used,
                 fd_lookahead_at(ahead, state, line),
                 ahead->machines - used + 1, lines[line]);
        }
    }
}

static void
fill(fd_lookahead *ahead, const fd_lookahead_request *request, uint32_t start)
{
    const fd_states *states = request->states;
    uint32_t most = request->costs->straight ? 1 : ahead->machines;
    double before = start == FD_NO_STATE ? 0 : states->times[start];
    double slack = 1e-9 * states->times[states->count - 1];
    uint32_t from = fd_states_until(states, before - slack);
    for (uint32_t i = from; i < states->count; i++) {
        uint32_t state = states->by_time[i];
        double work = states->times[state] - before - slack;
        /* Half of it at least: a part of a backward pass may not count. */
        if (request->micro_batches * work / 2 > request->cap * most) {
            break;
        }
        if (start == FD_NO_STATE || fd_state_follows(states, start, state)) {
            try_block(ahead, request, start, state);
        }
    }
}

fd_status
fd_lookahead_make(fd_lookahead *ahead, const fd_lookahead_request *request)
{
    uint32_t count = request->states->count;
    ahead->machines = request->costs->machines[0];
    size_t size = ((size_t)count + 1) * (ahead->machines + 1) * FD_LINES;
    ahead->values = fd_malloc(size * sizeof *ahead->values);
    if (ahead->values == NULL) {
        return FD_ENOMEM;
    }
    for (size_t i = 0; i < size; i++) {
        ahead->values[i] = INFINITY;
    }
    uint32_t over = request->costs->fewer ? ahead->machines : 0;
    for (int line = 0; line < FD_LINES; line++) {
        for (uint32_t i = 0; i <= over; i++) {
            fd_lookahead_at(ahead, count - 1, line)[i] = 0;
        }
    }
    for (uint32_t state = count - 1; state-- > 0;) {
        fill(ahead, request, state);
    }
    fill(ahead, request, FD_NO_STATE);
    return FD_OK;
}

void
fd_lookahead_clear(fd_lookahead *ahead)
{
    fd_free(ahead->values);
    *ahead = (fd_lookahead){.machines = 0};
}
