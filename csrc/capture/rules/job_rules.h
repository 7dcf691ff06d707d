/* Which functions of pipeline engines are jobs, as data: where the function
 * is, what kind of job its call is, and where the numbers of the job come from
 * (node_sources.h). The rules of a code object are found at its first call:
 *
 *     fd_code.jobs ──► fd_job_site │ rule │ sources │──► next, for the same
 *                                                        function, another
 *                                                        `when`
 *
 * Rules of the user join those that are built in; the first that matches the
 * function and whose `when` holds counts, the user's before built-in ones. */
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

/* The role of calls of the function. */
typedef enum fd_job_role {
    FD_ROLE_JOB,
    FD_ROLE_ITERATION, /* a whole batch; its numbers are those of the pipeline:
                          micro_batch is how many, stage the global stages,
                          chunk the processes */
    FD_ROLE_SCHEDULE, /* has the same numbers, but is not a job; `plan` is the object
                          whose class is the schedule */
    FD_ROLE_PREPARE, /* returns the transfers that the next POST begins */
    FD_ROLE_POST,    /* begins them: a job for each send */
    FD_ROLE_WAIT,    /* waits for what a POST returned: a job for each */
    FD_ROLE_MOVE     /* moves `bytes` more for the innermost open job of one
                          of its kinds */
} fd_job_role;

enum { FD_JOB_AT_ONCE = 4 }; /* kinds of one call */

typedef struct fd_job_rule {
    const char *suffix; /* end of the file's path, from the start of a name */
    const char *qualified; /* the __qualname__ */
    const char *kinds;     /* "F"; "SA+RG": two at once */
    fd_job_role role;
    fd_job_engine engine;
    uint32_t flags;          /* FD_JOB_* */
    const char *micro_batch; /* sources, NULL: none */
    const char *stage;
    const char *chunk;
    const char *peer;
    const char *buffer;
    const char *bytes; /* a number, or the tensors that are moved */
    const char *when;  /* the rule applies where this is true, or unknown */
    const char *plan;  /* the object whose class is the schedule; the code's
                         own name where there is none */
    const char *eval;  /* the batch is evaluated where this holds */
    const char *owner; /* the object that describes the engine; NULL: `self` */
    bool also;         /* later rules may apply as well */
    bool own_order;    /* the engine leaves the order of its schedule */
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
    uint32_t number;         /* of the rule, see fd_job_rule_at */
    fd_source sources[FD_FIELDS];
    uint32_t holders;         /* of the first site of a code object */
    struct fd_job_site *next; /* owned */
} fd_job_site;

/* The sites of a code object; NULL for nearly all. Needs the GIL. */
fd_job_site *fd_job_site_of(const PyCodeObject *code);

/* Keep the sites of a code object alive while Python code runs, which may add
 * a rule and so replace them. The last fd_job_site_free frees them. NULL is
 * allowed in both. */
fd_job_site *fd_job_site_hold(fd_job_site *site);
void fd_job_site_free(fd_job_site *site);

/* Copy a rule of the user. FD_EINVAL, with a line, for an invalid rule. Code
 * that is known already does not get it: see fd_pipeline_add_rule. */
fd_status fd_job_rules_add(const fd_job_rule *rule, fd_error *error);

/* Every rule: first those built in, then the user's. */
uint32_t fd_job_rules_count(void);
const fd_job_rule *fd_job_rule_at(uint32_t number);

const char *fd_job_engine_name(fd_job_engine engine);

#endif
