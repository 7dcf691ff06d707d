#include "events/readers/paddle_line.h"

#include <ctype.h>
#include <string.h>

enum { DECIMALS = 6, MOST_TYPE = 64 };

static bool
take_text(fd_span *rest, const char *text)
{
    size_t size = strlen(text);
    bool there =
        fd_span_size(*rest) >= size && memcmp(rest->from, text, size) == 0;
    rest->from += there ? size : 0;
    return there;
}

static bool
take_number(fd_span *rest, uint64_t *number)
{
    fd_span digits = {rest->from, rest->from};
    while (digits.to < rest->to && isdigit((unsigned char)*digits.to)) {
        digits.to++;
    }
    rest->from = digits.to;
    return fd_span_u64(digits, number);
}

static bool
take_word(fd_span *rest, fd_span *word)
{
    *word = (fd_span){rest->from, rest->from};
    while (word->to < rest->to
           && (isalnum((unsigned char)*word->to) || *word->to == '_')) {
        word->to++;
    }
    rest->from = word->to;
    return word->to > word->from && word->to - word->from <= MOST_TYPE;
}

/* Parse milliseconds with exactly six decimals, as nanoseconds. Further digits
 * are output of another thread. */
static bool
take_time(fd_span *rest, int64_t *ns)
{
    uint64_t number;
    if (!take_number(rest, &number) || number > INT64_MAX / 2000000
        || !take_text(rest, ".")) {
        return false;
    }
    int places = 0;
    while (places < DECIMALS && rest->from < rest->to
           && isdigit((unsigned char)*rest->from)) {
        number = number * 10 + (uint64_t)(*rest->from++ - '0');
        places++;
    }
    bool any = places > 0;
    for (; places < DECIMALS; places++) {
        number *= 10;
    }
    *ns = (int64_t)number;
    return any;
}

static bool
take_job(fd_span *rest, fd_paddle_job *job)
{
    return take_number(rest, &job->number) && take_text(rest, "), type = ")
        && take_word(rest, &job->type)
        && take_text(rest, ", micro_batch_id = ")
        && take_number(rest, &job->micro_batch)
        && take_text(rest, ", job_start_time = ")
        && take_time(rest, &job->start_ns)
        && take_text(rest, ", job_end_time = ")
        && take_time(rest, &job->end_ns) && job->end_ns >= job->start_ns;
}

static const char *
find_text(fd_span line, const char *text)
{
    return memmem(line.from, fd_span_size(line), text, strlen(text));
}

fd_paddle_found
fd_paddle_line_next(fd_span *line, fd_paddle_job *job, uint64_t *first_step)
{
    static const char job_prefix[] = "Profiler Info: Job (";
    static const char step_prefix[] = "Schedule Profiler start at step ";
    const char *at = find_text(*line, job_prefix);
    const char *step = find_text(
        (fd_span){line->from, at != NULL ? at : line->to}, step_prefix);
    if (step != NULL) {
        line->from = step + sizeof step_prefix - 1;
        return take_number(line, first_step)
                    && take_text(line, " and end at step ")
                 ? FD_PADDLE_FIRST_STEP
                 : fd_paddle_line_next(line, job, first_step);
    }
    if (at == NULL) {
        line->from = line->to;
        return FD_PADDLE_NOTHING;
    }
    line->from = at + sizeof job_prefix - 1;
    return take_job(line, job) ? FD_PADDLE_JOB : FD_PADDLE_BAD;
}
