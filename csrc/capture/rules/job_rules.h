/* The functions of pipeline engines that are jobs, as data: file and name of
 * the function, kind of the job, and sources of the numbers of the job
 * (node_sources.h). Python code passes them
 * (python/fastdispatch/record/engine_rules.py). The rules of a code object are
 * found at its first call:
 *
 *     fd_code.jobs ──► fd_job_site │ rule │ sources │──► next, for the same
 *                                                        function, with
 *                                                        another `when`
 *
 * Rules of the user are tried first. The first rule that matches the function
 * and whose `when` is true applies. */
#ifndef FD_JOB_RULES_H
#define FD_JOB_RULES_H

#include "capture/rules/node_sources.h"

/* The role of a call of the function. */
typedef enum fd_job_role {
    FD_ROLE_JOB, /* values: see engine_rules.py */
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

/* Sources of a rule. */
enum {
    FD_FIELD_MICRO_BATCH,
    FD_FIELD_STAGE,
    FD_FIELD_CHUNK,
    FD_FIELD_PEER,
    FD_FIELD_BUFFER,
    FD_FIELD_BYTES, /* a number, or the tensors that are moved */
    FD_FIELD_WHEN,  /* the rule applies if this is true or unknown */
    FD_FIELD_PLAN, /* the object whose class is the schedule; NULL: the name of
                       the code object */
    FD_FIELD_EVAL, /* the batch is an evaluation if this is true */
    FD_FIELD_OWNER, /* the object that describes the engine; NULL: `self` */
    FD_FIELDS
};

typedef struct fd_job_rule {
    PyObject *texts;    /* owned; has the texts */
    const char *suffix; /* end of the file's path, from the start of a name */
    const char *qualified; /* __qualname__ of the function */
    const char *kinds;     /* kinds of the jobs: "F"; "SA+RG": two at once */
    const char *engine;    /* "user": a rule of the user */
    const char *sources[FD_FIELDS]; /* NULL: none */
    fd_job_role role;
    int local;     /* a transfer with both ends on this rank */
    int also;      /* later rules may apply as well */
    int own_order; /* the engine deviates from its schedule */
} fd_job_rule;

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

/* Add a rule. Known code objects are not changed: see fd_pipeline_add_rule.
 * Return false if there is no memory. */
bool fd_job_rules_add(const fd_job_rule *rule);
bool fd_job_rule_is_of_user(const fd_job_rule *rule);

uint32_t fd_job_rules_count(void);
const fd_job_rule *fd_job_rule_at(uint32_t number);

#endif
