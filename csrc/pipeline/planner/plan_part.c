#include "pipeline/planner/plan_part.h"

fd_part
fd_part_of(const fd_costs *costs, const fd_states *states, fd_block block,
           uint32_t machines)
{
    double count = machines;
    double speed = costs->bandwidths[0] * count;
    double forward = fd_state_sum(states->forward, block);
    double parameters = fd_state_sum(states->parameters, block);
    fd_part part = {
        .forward = forward / count,
        .backward = (fd_state_sum(states->times, block) - forward) / count,
        .reduce = 4 * (count - 1) * parameters / speed,
        .saved = fd_state_sum(states->saved, block) / count,
        .kept = parameters * (2 + costs->optimizer),
    };
    if (costs->ratio > 0 && block.first != FD_NO_STATE) {
        part.transfer =
            fd_cuts_of(costs, states)[block.first] / speed / costs->ratio;
    }
    return part;
}

/* Backward passes that are not split give both directions, or one with the
 * all-reduce at the end. If they are split, no stage waits for gradients of
 * weights, which may be last. */
void
fd_part_lines(fd_line lines[FD_LINES], const fd_part *part,
              uint32_t micro_batches, bool apart)
{
    double forward = part->forward + part->transfer;
    double work = part->forward + part->backward;
    double all = micro_batches * work;
    lines[0] = (fd_line){forward, part->transfer + all + part->reduce};
    if (apart) {
        work = part->forward + part->backward / 2;
        all = micro_batches * work;
    }
    lines[1] = (fd_line){work + 2 * part->transfer, 2 * part->transfer + all};
}
