#include "timeline/align.h"

const char *
fd_timeline_align_name(fd_timeline_align align)
{
    switch (align) {
    case FD_ALIGN_WALL: return "wall";
    case FD_ALIGN_START: return "start";
    case FD_ALIGN_NONE: break;
    }
    return "none";
}

/* The earliest base of all is that of the merge. An input without one keeps
 * its times: what its clock counts from is not known. */
void
fd_timeline_align_all(fd_timeline_input *const *inputs, uint32_t count,
                      fd_timeline_align align, fd_timeline_clock *clock)
{
    *clock = (fd_timeline_clock){.has_base = false};
    for (uint32_t i = 0; i < count; i++) {
        const fd_timeline_survey *survey = &inputs[i]->survey;
        if (survey->has_base && align == FD_ALIGN_WALL
            && (!clock->has_base || survey->base_ns < clock->base_ns)) {
            clock->has_base = true;
            clock->base_ns = survey->base_ns;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        fd_timeline_input *input = inputs[i];
        const fd_timeline_survey *survey = &input->survey;
        if (align == FD_ALIGN_WALL && survey->has_base) {
            input->align = align;
            input->shift_ns = survey->base_ns - clock->base_ns;
        }
        if (align == FD_ALIGN_START && survey->has_first
            && survey->first_ns > INT64_MIN) {
            input->align = align;
            input->shift_ns = -survey->first_ns;
        }
    }
}
