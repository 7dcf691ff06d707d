#include "pipeline/recorded/pipeline_stats.h"

#include <stdlib.h>
#include <strings.h>

static const struct {
    const char *word;
    uint8_t kind;
} words[] = {
    {"load", FD_JOB_LM},          {"forward", FD_JOB_F},
    {"backward", FD_JOB_B},       {"send", FD_PIPE_SEND},
    {"receive", FD_PIPE_RECEIVE}, {"recv", FD_PIPE_RECEIVE},
    {"reduce", FD_JOB_RD},        {"optimizer", FD_JOB_OPT},
    {"iter", FD_PIPE_WHOLE},
};

uint8_t
fd_pipe_kind_named(const char *word)
{
    for (uint8_t kind = 0; kind < FD_JOB_KINDS; kind++) {
        if (strcasecmp(word, fd_job_kind_name((fd_job_kind)kind)) == 0) {
            return kind;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(word, words[i].word) == 0) {
            return words[i].kind;
        }
    }
    return FD_PIPE_OTHER;
}

void
fd_pipe_clear(fd_pipe *p)
{
    fd_vector_clear(&p->ranks);
    fd_vector_clear(&p->jobs);
}

fd_status
fd_pipeline_add_rank(fd_pipe *p, const fd_pipe_rank *rank)
{
    fd_pipe_rank made = *rank;
    made.first = made.end = p->jobs.count;
    return fd_vector_push(&p->ranks, made);
}

fd_status
fd_pipeline_add_job(fd_pipe *p, const fd_pipe_job *job)
{
    fd_pipe_job made = *job;
    made.at = p->ranks.count - 1;
    made.stage = made.stage > INT16_MAX ? -1 : made.stage; /* no stage */
    made.peer = made.peer > INT16_MAX ? -1 : made.peer;
    made.other = FD_NO_PIPE_JOB;
    fd_status status = fd_vector_push(&p->jobs, made);
    p->ranks.list[made.at].end = p->jobs.count;
    return status;
}

/* Return the stage that the jobs of a rank state; -1: no stage, -2:
 * several. */
static int32_t
only_stage(const fd_pipe *p, const fd_pipe_rank *rank)
{
    int32_t found = -1;
    for (uint32_t i = rank->first; i < rank->end; i++) {
        int32_t stage = p->jobs.list[i].stage;
        if (stage >= 0 && stage != found) {
            found = found == -1 ? stage : -2;
        }
        if (found == -2) {
            break;
        }
    }
    return found;
}

/* Set the stage of jobs without one to the only stage of their rank. */
static void
fill_stages(fd_pipe *p)
{
    bool none = true;
    for (uint32_t i = 0; i < p->jobs.count && none; i++) {
        none = p->jobs.list[i].stage < 0;
    }
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        none = none && p->ranks.list[i].position < 0;
    }
    p->guessed = none && p->jobs.count > 0;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        fd_pipe_rank *rank = &p->ranks.list[i];
        int32_t stage = only_stage(p, rank);
        if (stage == -1) {
            stage = p->guessed ? (int32_t)i : rank->position;
        }
        for (uint32_t j = rank->first; j < rank->end && stage >= 0; j++) {
            if (p->jobs.list[j].stage < 0) {
                p->jobs.list[j].stage = stage;
            }
        }
    }
}

static void
count_stages(fd_pipe *p)
{
    int32_t most = -1;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        fd_pipe_rank *rank = &p->ranks.list[i];
        int32_t lowest = -1;
        for (uint32_t j = rank->first; j < rank->end; j++) {
            const fd_pipe_job *job = &p->jobs.list[j];
            most = job->stage > most ? job->stage : most;
            most = job->peer > most ? job->peer : most;
            if (job->stage >= 0 && (lowest < 0 || job->stage < lowest)) {
                lowest = job->stage;
            }
        }
        rank->position = rank->position >= 0 ? rank->position : lowest;
        if (rank->position >= (int32_t)p->stages) {
            p->stages = (uint32_t)rank->position + 1;
        }
    }
    p->globals = (uint32_t)(most + 1);
    if (p->globals < p->stages * p->chunks) {
        p->globals = p->stages * p->chunks;
    }
    if (p->chunks == 0) {
        p->chunks =
            p->stages == 0 ? 1 : (p->globals + p->stages - 1) / p->stages;
    }
    /* A rank may be missing, so the number of stages is a minimum. */
    uint32_t least = (p->globals + p->chunks - 1) / p->chunks;
    p->stages = p->stages < least ? least : p->stages;
}

/* Set the direction of a transfer whose job does not state it. */
static void
aim_transfer(fd_pipe *p, fd_pipe_job *job)
{
    bool sends = job->kind == FD_PIPE_SEND;
    int32_t last = (int32_t)p->globals - 1;
    if (job->kind == FD_PIPE_SEND || job->kind == FD_PIPE_RECEIVE) {
        int32_t peer = job->peer;
        if (peer < 0 && job->stage >= 0 && last > 0) {
            peer = job->stage == 0 ? 1 : job->stage == last ? last - 1 : -1;
        }
        if (peer < 0 || job->stage < 0 || peer == job->stage) {
            p->undirected++;
            job->kind = FD_PIPE_OTHER;
            return;
        }
        job->peer = peer;
        job->kind = (peer > job->stage) == sends
                      ? (sends ? FD_JOB_SA : FD_JOB_RA)
                      : (sends ? FD_JOB_SG : FD_JOB_RG);
    }
    else if (fd_pipe_moves(job) && job->peer < 0 && job->stage >= 0) {
        bool up = job->kind == FD_JOB_SA || job->kind == FD_JOB_RG;
        job->peer =
            up ? (job->stage < last ? job->stage + 1 : -1) : job->stage - 1;
    }
}

/* Find the lines: ranks that differ only in the pipeline coordinate; without
 * coordinates, the k-th rank of each position is in line k. */
static void
find_lines(fd_pipe *p)
{
    bool known = true;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        known = known && p->ranks.list[i].data >= 0;
    }
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        fd_pipe_rank *rank = &p->ranks.list[i];
        uint32_t line = 0;
        bool found = false;
        for (uint32_t j = 0; j < i && !found; j++) {
            const fd_pipe_rank *before = &p->ranks.list[j];
            if (known) {
                found =
                    before->data == rank->data && before->model == rank->model;
                line = found ? before->line : line;
            }
            else {
                line += before->position == rank->position;
            }
        }
        if (known && !found) {
            line = p->lines;
        }
        rank->line = line;
        p->lines = line >= p->lines ? line + 1 : p->lines;
    }
}

FD_ORDER_BY(by_time, fd_pipe_job, iteration, start, row)

void
fd_pipeline_settle(fd_pipe *p)
{
    fill_stages(p);
    count_stages(p);
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        aim_transfer(p, &p->jobs.list[i]);
    }
    find_lines(p);
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        const fd_pipe_rank *rank = &p->ranks.list[i];
        if (rank->end > rank->first) {
            qsort(&p->jobs.list[rank->first], rank->end - rank->first,
                  sizeof *p->jobs.list, by_time);
        }
    }
}
