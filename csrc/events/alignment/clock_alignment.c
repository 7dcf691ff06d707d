#include "events/alignment/clock_alignment.h"

#include "base/budget.h"
#include "events/alignment/clock_estimates.h"

#include <string.h>

/* Maximum of collectives and messages stored for all inputs together, and the
 * minimum per input. */
enum { MOST_MOMENTS = 1 << 20, LEAST_MOMENTS = 128 };

enum { MOST_LISTED = 120 }; /* bytes of a list of ranks */

const char *
fd_timeline_align_name(fd_timeline_align align)
{
    static const char *const names[] = {
        [FD_ALIGN_NONE] = "none",
        [FD_ALIGN_WALL] = "wall",
        [FD_ALIGN_START] = "start",
        [FD_ALIGN_AUTO] = "auto",
        [FD_ALIGN_PINGPONG] = "pingpong",
        [FD_ALIGN_COLLECTIVE] = "collective",
        [FD_ALIGN_P2P] = "p2p",
        [FD_ALIGN_HOST] = "host",
        [FD_ALIGN_REFERENCE] = "reference",
    };
    return names[align];
}

bool
fd_timeline_is_calibrated(const fd_timeline_input *input)
{
    return input->uncertainty_ns != FD_CLOCK_UNKNOWN;
}

static bool
looks_for_moments(fd_timeline_align align)
{
    return align == FD_ALIGN_AUTO || align == FD_ALIGN_PINGPONG
        || align == FD_ALIGN_COLLECTIVE || align == FD_ALIGN_P2P;
}

fd_timeline_survey_options
fd_timeline_align_survey(fd_timeline_align align, uint32_t count)
{
    fd_timeline_survey_options options = {.first = align == FD_ALIGN_START};
    if (looks_for_moments(align) && count > 1) {
        uint32_t share = (uint32_t)fd_budget(MOST_MOMENTS) / count;
        options.sync = share > FD_TIMELINE_PARTS ? FD_TIMELINE_PARTS
                     : share < LEAST_MOMENTS     ? LEAST_MOMENTS
                                                 : share;
    }
    return options;
}

typedef struct aligning {
    fd_timeline_input *const *inputs;
    uint32_t count;
    uint32_t reference;
    fd_timeline_estimates estimates;
    fd_timeline_clock *clock;
} aligning;

static void
accept_fit(fd_timeline_input *input, fd_timeline_align align,
           const fd_clock_fit *fit)
{
    input->align = align;
    input->clock = fit->map;
    input->uncertainty_ns = fit->uncertainty_ns;
}

static bool
is_done(const fd_timeline_input *input)
{
    return input->align != FD_ALIGN_NONE;
}

/* Return the fit of two inputs that read the same clock: their times differ
 * only in where they start to count. */
static fd_clock_fit
base_fit(int64_t own, int64_t other, int64_t uncertainty)
{
    int64_t offset;
    bool fits = !__builtin_sub_overflow(own, other, &offset);
    return (fd_clock_fit){{.offset_ns = fits ? offset : 0}, uncertainty};
}

/* Align all inputs whose machine has the same boot id as a machine that is
 * already aligned. */
static void
accept_hosts(aligning *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const fd_timeline_input *from = a->inputs[i];
        const fd_timeline_sync *sync = &from->survey.sync;
        for (uint32_t k = 0; is_done(from) && sync->has_boot && k < a->count;
             k++) {
            fd_timeline_input *to = a->inputs[k];
            const fd_timeline_sync *own = &to->survey.sync;
            if (!is_done(to) && own->has_boot
                && strcmp(own->boot_id, sync->boot_id) == 0) {
                fd_clock_fit fit = base_fit(
                    own->boottime_ns, sync->boottime_ns, from->uncertainty_ns);
                fit.map = fd_clock_compose(&fit.map, &from->clock);
                accept_fit(to, FD_ALIGN_HOST, &fit);
            }
        }
    }
}

/* Return whether two traces read the same clock. Traces of other programs do
 * not state their clock: it is the same if their hosts have the same name and
 * their collectives and messages do not contradict it. */
static bool
is_same_host(const aligning *a, uint32_t index, const fd_clock_fit *fit,
             fd_clock_fit *better)
{
    const fd_timeline_survey *own = &a->inputs[index]->survey;
    const fd_timeline_survey *other = &a->inputs[a->reference]->survey;
    if (own->sync.host[0] == '\0' || own->sync.has_boot || !own->has_base
        || !other->has_base || strcmp(own->sync.host, other->sync.host) != 0) {
        return false;
    }
    *better = base_fit(own->base_ns, other->base_ns, 0);
    int64_t at = fit->map.at_ns;
    __int128 apart = (__int128)fd_clock_apply(&fit->map, at)
                   - fd_clock_apply(&better->map, at);
    return apart <= fit->uncertainty_ns && apart >= -fit->uncertainty_ns;
}

/* Align the input with the smallest uncertainty among those not aligned yet,
 * then all inputs of its host. */
static bool
accept_next(aligning *a, fd_timeline_method method, bool automatic)
{
    static const fd_timeline_align methods[] = {
        FD_ALIGN_PINGPONG, FD_ALIGN_COLLECTIVE, FD_ALIGN_P2P};
    const fd_timeline_estimate *of = a->estimates.of[method];
    uint32_t best = a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        if (of[i].found && !is_done(a->inputs[i])
            && (best == a->count
                || of[i].fit.uncertainty_ns < of[best].fit.uncertainty_ns)) {
            best = i;
        }
    }
    if (best == a->count) {
        return false;
    }
    fd_clock_fit fit = of[best].fit;
    bool same = automatic && is_same_host(a, best, &of[best].fit, &fit);
    accept_fit(a->inputs[best], same ? FD_ALIGN_HOST : methods[method],
               same ? &fit : &of[best].fit);
    return true;
}

static void
accept_method(aligning *a, fd_timeline_method method, bool automatic)
{
    do {
        if (automatic) {
            accept_hosts(a);
        }
    } while (accept_next(a, method, automatic));
}

/* Align by the wall clock, with unknown accuracy. */
static void
accept_walls(aligning *a)
{
    const fd_timeline_survey *other = &a->inputs[a->reference]->survey;
    for (uint32_t i = 0; i < a->count; i++) {
        fd_timeline_input *input = a->inputs[i];
        if (!is_done(input) && input->survey.has_base && other->has_base) {
            fd_clock_fit fit = base_fit(input->survey.base_ns, other->base_ns,
                                        FD_CLOCK_UNKNOWN);
            accept_fit(input, FD_ALIGN_WALL, &fit);
        }
    }
}

/* Return the first input with a wall-clock time at its time 0: it gives the
 * merge its base. */
static uint32_t
choose_reference(const aligning *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->inputs[i]->survey.has_base) {
            return i;
        }
    }
    return 0;
}

/* Return time 0 of the merge. Viewers store microseconds in a double, which is
 * exact to the nanosecond up to 2^40 us. If inputs have a base and the first
 * event is later than that, time 0 is one day before the event; not earlier,
 * since the survey reads only some events of a file and there may be earlier
 * ones. */
static int64_t
near_events(const aligning *a, int64_t least, int64_t most)
{
    static const int64_t far = INT64_C(1) << 50;
    static const int64_t day = INT64_C(86400) * 1000000000;
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < a->count; i++) {
        const fd_timeline_input *input = a->inputs[i];
        if (is_done(input) && input->survey.has_first) {
            int64_t ns = fd_clock_apply(&input->clock, input->survey.first_ns);
            first = ns < first ? ns : first;
        }
    }
    bool is_far = most > least && first < INT64_MAX && least < INT64_MAX - far
               && first > least + far;
    return is_far ? first - day : least;
}

/* Move time 0 of the merge to the earliest time 0 of the aligned inputs, so
 * that no time is negative. Inputs without alignment keep their times. */
static void
move_base(aligning *a)
{
    const fd_timeline_survey *reference = &a->inputs[a->reference]->survey;
    int64_t least = 0;
    int64_t most = 0;
    if (!reference->has_base) {
        return;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        int64_t zero = fd_clock_apply(&a->inputs[i]->clock, 0);
        least = is_done(a->inputs[i]) && zero < least ? zero : least;
        most = is_done(a->inputs[i]) && zero > most ? zero : most;
    }
    least = near_events(a, least, most);
    a->clock->has_base =
        !__builtin_add_overflow(reference->base_ns, least, &a->clock->base_ns);
    const fd_clock_map back = {.offset_ns = -least};
    for (uint32_t i = 0; i < a->count && a->clock->has_base; i++) {
        fd_clock_map *map = &a->inputs[i]->clock;
        *map = is_done(a->inputs[i]) ? fd_clock_compose(map, &back) : *map;
    }
}

static fd_timeline_method
method_of(fd_timeline_align align)
{
    return align == FD_ALIGN_PINGPONG   ? FD_METHOD_PINGPONG
         : align == FD_ALIGN_COLLECTIVE ? FD_METHOD_COLLECTIVE
         : align == FD_ALIGN_P2P        ? FD_METHOD_P2P
                                        : FD_METHODS;
}

/* Set the difference between the chosen alignment of each input and that of
 * another method. */
static void
find_residuals(aligning *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        fd_timeline_input *input = a->inputs[i];
        for (int method = 0; method < FD_METHODS && !input->has_residual;
             method++) {
            const fd_timeline_estimate *e = &a->estimates.of[method][i];
            if (i != a->reference && is_done(input) && e->found
                && method != (int)method_of(input->align)) {
                int64_t at = e->fit.map.at_ns;
                __int128 apart = (__int128)fd_clock_apply(&input->clock, at)
                               - fd_clock_apply(&e->fit.map, at);
                input->residual_ns = fd_clock_round((double)apart);
                input->has_residual = true;
            }
        }
    }
}

static fd_status
find_violations(aligning *a)
{
    fd_clock_map *maps = fd_calloc(a->count, sizeof *maps);
    uint64_t *found = fd_calloc(a->count, sizeof *found);
    bool enough = maps != NULL && found != NULL;
    for (uint32_t i = 0; enough && i < a->count; i++) {
        maps[i] = a->inputs[i]->clock;
    }
    if (enough) {
        fd_timeline_violations(&a->estimates, maps, found);
    }
    for (uint32_t i = 0; enough && i < a->count; i++) {
        a->inputs[i]->violations = found[i];
    }
    fd_free(maps);
    fd_free(found);
    return enough ? FD_OK : FD_ENOMEM;
}

static void
choose_fit(aligning *a, fd_timeline_align align)
{
    const fd_clock_fit none = {.uncertainty_ns = 0};
    bool automatic = align == FD_ALIGN_AUTO;
    accept_fit(a->inputs[a->reference], FD_ALIGN_REFERENCE, &none);
    for (int method = 0; method < FD_METHODS; method++) {
        if (automatic || method == (int)method_of(align)) {
            accept_method(a, (fd_timeline_method)method, automatic);
        }
    }
    accept_walls(a);
}

static bool
is_alone(const aligning *a)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        done += fd_timeline_is_calibrated(a->inputs[i]);
    }
    return done == 1;
}

static fd_status
align_by_moments(aligning *a, fd_timeline_align align)
{
    fd_estimate_input *inputs = fd_calloc(a->count, sizeof *inputs);
    if (inputs == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        inputs[i] = (fd_estimate_input){a->inputs[i]->rank,
                                        &a->inputs[i]->survey.sync};
    }
    fd_status status = fd_timeline_estimates_make(&a->estimates, inputs,
                                                  a->count, a->reference);
    if (status == FD_OK) {
        choose_fit(a, align);
        find_residuals(a);
        status = find_violations(a);
        move_base(a);
    }
    fd_timeline_estimates_clear(&a->estimates);
    /* Without an input aligned to it, the reference is not a reference. */
    fd_timeline_input *reference = a->inputs[a->reference];
    if (is_alone(a)) {
        reference->align =
            reference->survey.has_base ? FD_ALIGN_WALL : FD_ALIGN_NONE;
        reference->uncertainty_ns = a->count > 1 ? FD_CLOCK_UNKNOWN : 0;
    }
    return status;
}

static void
align_by_start(aligning *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        fd_timeline_input *input = a->inputs[i];
        if (input->survey.has_first && input->survey.first_ns > INT64_MIN) {
            input->align = FD_ALIGN_START;
            input->clock.offset_ns = -input->survey.first_ns;
        }
    }
}

fd_status
fd_timeline_align_all(fd_timeline_input *const *inputs, uint32_t count,
                      fd_timeline_align align, fd_timeline_clock *clock)
{
    aligning a = {.inputs = inputs, .count = count, .clock = clock};
    *clock = (fd_timeline_clock){.has_base = false};
    for (uint32_t i = 0; i < count; i++) {
        inputs[i]->align = FD_ALIGN_NONE;
        inputs[i]->uncertainty_ns = FD_CLOCK_UNKNOWN;
    }
    a.reference = choose_reference(&a);
    if (looks_for_moments(align)) {
        return align_by_moments(&a, align);
    }
    if (align == FD_ALIGN_START) {
        align_by_start(&a);
    }
    if (align == FD_ALIGN_WALL) {
        accept_walls(&a);
        move_base(&a);
    }
    return FD_OK;
}

fd_status
fd_timeline_align_check(fd_timeline_input *const *inputs, uint32_t count,
                        fd_error *error)
{
    fd_buffer ranks = {.bytes = NULL};
    for (uint32_t i = 0; i < count; i++) {
        if (!fd_timeline_is_calibrated(inputs[i])) {
            fd_buffer_format(&ranks, "%s%u", ranks.size > 0 ? ", " : "",
                             (unsigned)inputs[i]->rank);
        }
    }
    fd_status status = ranks.status;
    if (ranks.size > 0 && status == FD_OK) {
        status =
            fd_fail(error, FD_EINVAL,
                    "unknown clock error of rank "
                    "%.*s: omit --require-aligned-clocks or record with pings "
                    "(docs/concepts/clocks.md)",
                    (int)(ranks.size < MOST_LISTED ? ranks.size : MOST_LISTED),
                    ranks.bytes);
    }
    fd_buffer_clear(&ranks);
    return status;
}
