#include "recording/job_kinds.h"

const char *
fd_job_kind_name(fd_job_kind kind)
{
    static const char *const names[FD_JOB_KINDS] = {
        "LM", "F", "B", "I", "W", "SA", "RA", "SG", "RG", "RT", "RD", "OPT"};
    return names[kind];
}
