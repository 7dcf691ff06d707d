/* Writer of the jobs of all ranks as the two files that PaddlePaddle's tool
 * writes: one row per device, and one for the steps of all.
 *
 *   pipeline_profile.json            rows "GPU2" or "GPU2(machine:0)", "Step"
 *   pipeline_profile_perfetto.json   likewise, with numbers and names of rows
 *
 * A job is a slice with "micro_batch" in its arguments. */
#ifndef FD_PADDLE_PROFILE_H
#define FD_PADDLE_PROFILE_H

#include "events/event_inputs.h"

/* Write both files into the folder `request->output`. FD_EFORMAT: no input has
 * a job. */
fd_status fd_timeline_paddle_profile(const fd_timeline_request *request,
                                     const fd_timeline_inputs *inputs,
                                     const fd_timeline_clock *clock,
                                     fd_error *error);

#endif
