/* The functions of pipeline engines that are jobs, as data: file and name of
 * the function, kind of the job, and sources of the numbers of the job
 * (node_sources.h). The rules of a code object are found at its first call:
 *
 *     fd_code.jobs ──► fd_job_site │ rule │ sources │──► next, for the same
 *                                                        function, with
 *                                                        another `when`
 *
 * Rules of the user supplement the built-in ones and are tried first. The
 * first rule that matches the function and whose `when` is true applies. */
#ifndef FD_JOB_RULES_H
#define FD_JOB_RULES_H

#include "base/status.h"
#include "capture/rules/node_sources.h"

typedef enum fd_job_engine {
    FD_ENGINE_USER,
    FD_ENGINE_DEEPSPEED,
    FD_ENGINE_TORCH,
    FD_ENGINE_MEGATRON,
    FD_ENGINES
} fd_job_engine;

/* The role of a call of the function. */
typedef enum fd_job_role {
    FD_ROLE_JOB,
    /* a complete batch; its numbers are counts: micro_batch of micro-batches,
     * stage of global stages, chunk of processes */
    FD_ROLE_ITERATION,
    FD_ROLE_SCHEDULE, /* has the same numbers as an iteration, but is not a
                         job; `plan` is the object whose class is the
                         schedule */
    FD_ROLE_PREPARE,  /* returns the transfers of the next POST */
    FD_ROLE_POST,     /* starts these transfers: one job per send */
    FD_ROLE_WAIT,     /* waits for results of POST: one job per transfer */
    FD_ROLE_MOVE      /* adds `bytes` to the innermost open job of one of its
                         kinds */
} fd_job_role;

enum { FD_JOB_AT_ONCE = 4 }; /* maximum number of kinds of one call */

typedef struct fd_job_rule {
    const char *suffix; /* end of the file's path, from the start of a name */
    const char *qualified; /* __qualname__ of the function */
    const char *kinds;     /* kinds of the jobs: "F"; "SA+RG": two at once */
    fd_job_role role;
    fd_job_engine engine;
    uint32_t flags;          /* FD_JOB_* */
    const char *micro_batch; /* sources of numbers; NULL: none */
    const char *stage;
    const char *chunk;
    const char *peer;
    const char *buffer;
    const char *bytes; /* a number, or the tensors that are moved */
    const char *when;  /* the rule applies if this is true or unknown */
    const char *plan;  /* the object whose class is the schedule; NULL: the
                          name of the code object */
    const char *eval;  /* the batch is an evaluation if this is true */
    const char *owner; /* the object that describes the engine; NULL: `self` */
    bool also;         /* later rules may apply as well */
    bool own_order;    /* the engine deviates from its schedule */
} fd_job_rule;

enum {
    FD_FIELD_MICRO_BATCH,
    FD_FIELD_STAGE,
    FD_FIELD_CHUNK,
    FD_FIELD_PEER,
    FD_FIELD_BUFFER,
    FD_FIELD_BYTES,
    FD_FIELD_WHEN,
    FD_FIELD_PLAN,
    FD_FIELD_EVAL,
    FD_FIELD_OWNER,
    FD_FIELDS
};

typedef struct fd_job_site {
    const fd_job_rule *rule; /* borrowed */
    uint32_t number;         /* of the rule, for fd_job_rule_at */
    fd_source sources[FD_FIELDS];
    uint32_t holders;         /* reference count, in the first site of a code
                                 object */
    struct fd_job_site *next; /* owned */
} fd_job_site;

/* Find the sites of a code object; NULL for most. Requires the GIL. */
fd_job_site *fd_job_site_of(const PyCodeObject *code);

/* Add a reference, which keeps the sites of a code object alive while Python
 * code runs, because that code may add a rule and so replace them.
 * fd_job_site_free drops a reference. Both accept NULL. */
fd_job_site *fd_job_site_hold(fd_job_site *site);
void fd_job_site_free(fd_job_site *site);

/* Copy a rule of the user. Return FD_EINVAL with a message for an invalid
 * rule. Known code objects are not changed: see fd_pipeline_add_rule. */
fd_status fd_job_rules_add(const fd_job_rule *rule, fd_error *error);

/* Return the number of rules: built-in ones, then those of the user. */
uint32_t fd_job_rules_count(void);
const fd_job_rule *fd_job_rule_at(uint32_t number);

const char *fd_job_engine_name(fd_job_engine engine);

#endif
