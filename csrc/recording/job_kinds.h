/* Kinds of units of a pipeline schedule. */
#ifndef FD_JOB_KINDS_H
#define FD_JOB_KINDS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum fd_job_kind {
    FD_JOB_LM,  /* load a micro-batch */
    FD_JOB_F,   /* forward */
    FD_JOB_B,   /* backward: I and W together */
    FD_JOB_I,   /* gradients of the inputs alone */
    FD_JOB_W,   /* gradients of the weights alone */
    FD_JOB_SA,  /* send an activation to the next global stage */
    FD_JOB_RA,  /* receive an activation from the previous global stage */
    FD_JOB_SG,  /* send a gradient to the previous stage */
    FD_JOB_RG,  /* receive a gradient from the next stage */
    FD_JOB_RT,  /* reduce gradients of tied weights */
    FD_JOB_RD,  /* reduce gradients among replicas */
    FD_JOB_OPT, /* optimizer step */
    FD_JOB_KINDS
} fd_job_kind;

const char *fd_job_kind_name(fd_job_kind kind);

/* Return the kind of this name, or FD_JOB_KINDS. */
fd_job_kind fd_job_kind_named(const char *name);

static inline bool
fd_job_is_compute(fd_job_kind kind)
{
    return kind >= FD_JOB_F && kind <= FD_JOB_W;
}

static inline bool
fd_job_is_transfer(fd_job_kind kind)
{
    return kind >= FD_JOB_SA && kind <= FD_JOB_RG;
}

static inline bool
fd_job_is_send(fd_job_kind kind)
{
    return kind == FD_JOB_SA || kind == FD_JOB_SG;
}

/* Return the other stage of a transfer, or -1 if it is not known or the job is
 * not a transfer. */
static inline int64_t
fd_job_peer(fd_job_kind kind, int64_t stage)
{
    if (stage < 0 || !fd_job_is_transfer(kind)) {
        return -1;
    }
    return kind == FD_JOB_SA || kind == FD_JOB_RG ? stage + 1 : stage - 1;
}

#endif
