#include "events/event_inputs.h"

#include "base/alloc.h"
#include "events/recorded/events_from_recording.h"
#include "events/tools/event_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return whether a rank is among the requested ones. */
static bool
is_requested(const fd_timeline_request *request, uint32_t rank)
{
    for (size_t i = 0; i < request->rank_count; i++) {
        if (request->ranks[i] == rank) {
            return true;
        }
    }
    return request->ranks == NULL;
}

static bool
is_ours(const fd_timeline_input *input)
{
    return strcmp(input->survey.program, FD_TIMELINE_OURS) == 0;
}

static bool
is_recording(const fd_timeline_input *input)
{
    return strcmp(input->survey.format, FD_RECORDING_FORMAT) == 0;
}

/* Order the inputs by rank, and those of one rank as follows: inputs of
 * fastdispatch first; recordings before exports; a larger world size first (it
 * is unknown if the launcher spawns ranks); "rank00000.fd" before
 * "rank00000.4711.fd", which a second process of the same rank wrote. */
static int
by_rank(const void *left, const void *right)
{
    const fd_timeline_input *a = *(const fd_timeline_input *const *)left;
    const fd_timeline_input *b = *(const fd_timeline_input *const *)right;
    int order = FD_ORDER(a->rank, b->rank);
    order = order != 0 ? order : FD_ORDER(is_ours(b), is_ours(a));
    if (order == 0 && is_ours(a)) {
        order = FD_ORDER(is_recording(b), is_recording(a));
        order =
            order != 0 ? order : FD_ORDER(b->survey.world, a->survey.world);
        order =
            order != 0 ? order : FD_ORDER(strlen(a->path), strlen(b->path));
    }
    return order != 0 ? order : strcmp(a->path, b->path);
}

/* Survey an input. A file that cannot be opened is an error; a file that is
 * not a trace is reported and skipped. */
static fd_status
survey_input(const fd_timeline_request *request, fd_timeline_input *input,
             uint32_t count, fd_timeline_inputs *used, fd_error *error)
{
    fd_timeline_survey *survey = &input->survey;
    input->clock = (fd_rank_clock){.method = "none"};
    fd_timeline_survey_options options = {
        .first = request->starts || request->has_times,
        .sync = request->moments ? fd_timeline_sync_share(count) : 0};
    fd_status status = fd_timeline_survey_read(
        survey, fd_timeline_content(input), options, error);
    if (status != FD_OK) {
        return status;
    }
    input->rank = survey->has_rank ? survey->rank : input->rank;
    input->left_out = survey->is_trace && !is_requested(request, input->rank);
    input->used = survey->is_trace && !input->left_out;
    input->lost = input->used ? input->damaged : 0;
    snprintf(input->trouble, sizeof input->trouble, "%s",
             input->damage != NULL ? input->damage : survey->trouble);
    return input->used ? fd_vector_push(used, input) : FD_OK;
}

static bool
of_one_folder(const fd_timeline_input *a, const fd_timeline_input *b)
{
    const char *end_a = strrchr(a->path, '/');
    const char *end_b = strrchr(b->path, '/');
    size_t size = end_a == NULL ? 0 : (size_t)(end_a - a->path);
    return (end_a == NULL) == (end_b == NULL)
        && (end_a == NULL
            || ((size_t)(end_b - b->path) == size
                && memcmp(a->path, b->path, size) == 0));
}

/* Skip the duplicate ranks of a run directory; fail with FD_ECONFLICT for
 * other duplicates. */
static fd_status
check_ranks(fd_timeline_inputs *used, fd_error *error)
{
    uint32_t kept = 0;
    qsort(used->list, used->count, sizeof *used->list, by_rank);
    for (uint32_t i = 0; i < used->count; i++) {
        fd_timeline_input *b = used->list[i];
        fd_timeline_input *a = kept > 0 ? used->list[kept - 1] : NULL;
        bool again = a != NULL && a->rank == b->rank;
        if (again && is_ours(a) && is_ours(b) && of_one_folder(a, b)) {
            b->used = false;
            snprintf(b->trouble, sizeof b->trouble,
                     "rank %u is in another input", (unsigned)b->rank);
            continue;
        }
        if (again && is_ours(a) == is_ours(b)) {
            return fd_fail(error, FD_ECONFLICT,
                           "rank %u is in two inputs: %s and %s",
                           (unsigned)a->rank, a->path, b->path);
        }
        if (again) {
            a->beside = b->beside = true;
        }
        used->list[kept++] = b;
    }
    used->count = kept;
    return FD_OK;
}

/* Compose the label, such as "rank 3 | node7 | pipe 1, data 0". The processes
 * of a merge have such names already. */
static void
input_label(fd_timeline_input *input)
{
    const fd_timeline_survey *survey = &input->survey;
    if (survey->merged > 0) {
        input->label[0] = '\0';
        return;
    }
    snprintf(input->label, sizeof input->label, "rank %u%s%s%s%s",
             (unsigned)input->rank, survey->host[0] != '\0' ? " | " : "",
             survey->host, survey->coordinates[0] != '\0' ? " | " : "",
             survey->coordinates);
}

static fd_status
nothing_to_use(fd_timeline_input *inputs, uint32_t count, fd_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (inputs[i].trouble[0] != '\0') {
            return fd_fail(error, FD_EFORMAT, "%s: %s", inputs[i].path,
                           inputs[i].trouble);
        }
    }
    return fd_fail(error, FD_EINVAL, "no trace of these ranks");
}

fd_status
fd_timeline_inputs_find(const fd_timeline_request *request,
                        fd_timeline_input *inputs, uint32_t count,
                        fd_timeline_inputs *used, fd_error *error)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        status = survey_input(request, &inputs[i], count, used, error);
    }
    if (status == FD_OK && used->count == 0) {
        return nothing_to_use(inputs, count, error);
    }
    fd_then(status, check_ranks(used, error));
    for (uint32_t i = 0; i < used->count && status == FD_OK; i++) {
        input_label(used->list[i]);
    }
    return status;
}

fd_status
fd_timeline_inputs_align(const fd_timeline_request *request,
                         const fd_timeline_inputs *used,
                         fd_timeline_clock *clock, fd_error *error)
{
    *clock = (fd_timeline_clock){.has_base = false};
    for (uint32_t i = 0; i < used->count; i++) {
        used->list[i]->clock.uncertainty_ns = FD_CLOCK_UNKNOWN;
    }
    return request->align == NULL
                || request->align(request->context, used->list, used->count,
                                  clock)
             ? FD_OK
             : fd_fail(error, FD_EINVAL, "stopped");
}

static fd_status
find_steps(const fd_timeline_request *request, fd_timeline_input *input,
           fd_error *error)
{
    input->windows = fd_calloc(1, sizeof *input->windows);
    if (input->windows == NULL) {
        return FD_ENOMEM;
    }
    fd_status status =
        fd_timeline_windows_find(input->windows, input, request, error);
    if (status == FD_OK && !input->windows->all.any) {
        input->used = false;
        snprintf(input->trouble, sizeof input->trouble, "none of these steps");
    }
    return status;
}

static void
clear_input(fd_timeline_input *input)
{
    if (input->windows != NULL) {
        fd_timeline_windows_clear(input->windows);
        fd_free(input->windows);
        input->windows = NULL;
    }
}

fd_status
fd_timeline_inputs_find_steps(const fd_timeline_request *request,
                              fd_timeline_inputs *used, fd_error *error)
{
    fd_status status = FD_OK;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < used->count; i++) {
        fd_timeline_input *input = used->list[i];
        fd_then(status, find_steps(request, input, error));
        if (input->used) {
            used->list[kept++] = input;
        }
        else {
            clear_input(input);
        }
    }
    used->count = kept;
    return status == FD_OK && kept == 0
             ? fd_fail(error, FD_EINVAL, "none of these steps in any input")
             : status;
}

void
fd_timeline_inputs_clear(fd_timeline_inputs *used)
{
    for (uint32_t i = 0; i < used->count; i++) {
        clear_input(used->list[i]);
    }
    fd_vector_clear(used);
}
