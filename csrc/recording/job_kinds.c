#include "recording/job_kinds.h"

#include <string.h>

const char *
fd_job_kind_name(fd_job_kind kind)
{
    static const char *const names[FD_JOB_KINDS] = {
        "LM", "F", "B", "I", "W", "SA", "RA", "SG", "RG", "RT", "RD", "OPT"};
    return names[kind];
}

fd_job_kind
fd_job_kind_named(const char *name)
{
    int kind = 0;
    while (kind < FD_JOB_KINDS
           && strcmp(fd_job_kind_name((fd_job_kind)kind), name) != 0) {
        kind++;
    }
    return (fd_job_kind)kind;
}
