/* Facts about recordings for the alignment of their clocks. */
#ifndef FD_RECORDING_INPUTS_H
#define FD_RECORDING_INPUTS_H

#include "events/tools/input_survey.h"
#include "trace/trace.h"

/* Survey a rank of a trace that was read with its timeline, with its collectives if
 * `moments` is set. Clear the survey also after a failure. */
fd_status fd_timeline_survey_rank(fd_timeline_survey *survey,
                                  const fd_trace *trace,
                                  const fd_trace_rank *rank, bool moments);

#endif
