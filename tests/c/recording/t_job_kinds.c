#include "check.h"

#include "recording/job_kinds.h"

TEST(names_and_groups)
{
    SAME(fd_job_kind_name(FD_JOB_LM), "LM");
    SAME(fd_job_kind_name(FD_JOB_OPT), "OPT");
    EQUAL(fd_job_kind_named("SG"), FD_JOB_SG);
    EQUAL(fd_job_kind_named("ITER"), FD_JOB_KINDS);
    CHECK(fd_job_is_compute(FD_JOB_W) && !fd_job_is_compute(FD_JOB_SA));
    CHECK(fd_job_is_transfer(FD_JOB_RG) && !fd_job_is_transfer(FD_JOB_RT));
    CHECK(fd_job_is_send(FD_JOB_SG) && !fd_job_is_send(FD_JOB_RG));
}
