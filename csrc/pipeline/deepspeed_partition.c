#include "pipeline/deepspeed_partition.h"

#include "base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The lightest and heaviest stage of the stored cuts of the first i layers. */
typedef struct extent {
    double min; /* negative: no such cuts */
    double max;
} extent;

/* Dynamic programming over (stages, layers), one row of stages at a time.
 * With j stages the first i layers count only while j <= i and as many layers
 * are left as stages:
 *
 *            i  0  1  2  3  4  5  6        6 layers, 3 stages: each row has
 *     j = 1        #  #  #  #              6 - 3 + 1 cells
 *     j = 2           #  #  #  #
 *     j = 3              #  #  #  #
 */
typedef struct table {
    const double *sums;
    uint32_t layers;
    uint32_t stages;
    double bound;     /* maximum weight of a stage */
    extent *before;   /* owned; by number of layers, for one stage less */
    extent *now;      /* owned */
    uint32_t *begins; /* owned; per cell: the first layer of its last stage */
} table;

static uint32_t *
begin_of(const table *t, uint32_t stages, uint32_t layers)
{
    size_t width = t->layers - t->stages + 1;
    return &t->begins[(stages - 1) * width + (layers - stages)];
}

static fd_status
make_table(table *t)
{
    size_t width = t->layers - t->stages + 1;
    size_t entries = (size_t)t->layers + 1;
    t->before = fd_calloc(entries, sizeof *t->before);
    t->now = fd_calloc(entries, sizeof *t->now);
    t->begins = fd_calloc(t->stages * width, sizeof *t->begins);
    return t->before == NULL || t->now == NULL || t->begins == NULL ? FD_ENOMEM
                                                                    : FD_OK;
}

static double
smaller_of(double a, double b)
{
    return b < a ? b : a;
}

static double
larger_of(double a, double b)
{
    return b > a ? b : a;
}

/* Fill the cell of `i` layers and `j` stages from `before`, in which no
 * lightest stage of fewer layers weighs more than `most`. */
typedef void fill(table *t, uint32_t j, uint32_t i, double most);

/* Apply DeepSpeed's rule: the smallest difference between the heaviest and the
 * lightest stage of the stored cuts; of equally good cuts, the latest start of
 * the last stage. DeepSpeed visits all starts in ascending order. In
 * descending order no earlier start can be better once the last stage alone is
 * too heavy: its weight grows, and rounding keeps the order of differences. */
static void
fill_balanced(table *t, uint32_t j, uint32_t i, double most)
{
    double best = INFINITY;
    for (uint32_t k = i; k-- >= j;) {
        double weight = t->sums[i] - t->sums[k];
        if (weight - most >= best) {
            break;
        }
        double max = larger_of(t->before[k].max, weight);
        double min = smaller_of(t->before[k].min, weight);
        if (max - min < best) {
            best = max - min;
            t->now[i] = (extent){min, max};
            *begin_of(t, j, i) = k;
        }
    }
}

/* Find, of the cuts within the bound, the one with the heaviest lightest
 * stage; of equally good cuts, the latest start. The lightest of j - 1 stages
 * weighs at most their mean, except for one rounding: the search ends at a
 * stage that is lighter than the best by more than that. */
static void
fill_bounded(table *t, uint32_t j, uint32_t i, double most)
{
    double best = -1;
    for (uint32_t k = i; k-- >= j && best < most;) {
        double weight = t->sums[i] - t->sums[k];
        double mean = t->sums[k] / (double)(j - 1);
        if (weight > t->bound || mean * (1 + 1e-12) < best) {
            break;
        }
        double min = smaller_of(t->before[k].min, weight);
        if (min > best) {
            best = min;
            *begin_of(t, j, i) = k;
        }
    }
    t->now[i].min = best;
}

static void
fill_row(table *t, uint32_t j, fill *rule)
{
    uint32_t last = t->layers - (t->stages - j);
    double most = t->before[j - 1].min;
    for (uint32_t i = j; i <= last; i++) {
        most = larger_of(most, t->before[i - 1].min);
        if (j < t->stages || i == last) {
            rule(t, j, i, most);
        }
    }
    extent *swap = t->before;
    t->before = t->now;
    t->now = swap;
}

static fd_status
cut_by(fill *rule, table *t, uint32_t *cuts)
{
    fd_status status = make_table(t);
    if (status == FD_OK) {
        for (uint32_t i = 1; i <= t->layers; i++) {
            bool fits = t->sums[i] <= t->bound;
            t->before[i] = (extent){fits ? t->sums[i] : -1, t->sums[i]};
        }
        for (uint32_t j = 2; j <= t->stages; j++) {
            fill_row(t, j, rule);
        }
        cuts[t->stages] = t->layers;
        for (uint32_t j = t->stages; j > 0; j--) {
            cuts[j - 1] = *begin_of(t, j, cuts[j]);
        }
    }
    fd_free(t->before);
    fd_free(t->now);
    fd_free(t->begins);
    return status;
}

/* Return whether stages that weigh at most `bound` are sufficient. */
static bool
bound_fits(const table *t, double bound)
{
    uint32_t begin = 0;
    uint32_t used = 1;
    for (uint32_t i = 1; i <= t->layers; i++) {
        if (t->sums[i] - t->sums[begin] <= bound) {
            continue;
        }
        begin = i - 1;
        used++;
        if (used > t->stages || t->sums[i] - t->sums[begin] > bound) {
            return false;
        }
    }
    return true;
}

/* Return the exact minimum of the bounds that fit: non-negative doubles have
 * the order of their bits. */
static double
least_bound(const table *t)
{
    uint64_t low = 0;
    uint64_t high;
    double bound = t->sums[t->layers];
    memcpy(&high, &bound, sizeof high);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(&bound, &middle, sizeof bound);
        if (bound_fits(t, bound)) {
            high = middle;
        }
        else {
            low = middle + 1;
        }
    }
    memcpy(&bound, &high, sizeof bound);
    return bound;
}

static void
cut_uniform(uint32_t layers, uint32_t stages, uint32_t *cuts)
{
    uint32_t each = layers / stages;
    uint32_t rest = layers % stages;
    for (uint32_t k = 0; k <= stages; k++) {
        cuts[k] = k * each + (k < rest ? k : rest);
    }
}

static fd_status
check_request(fd_cut cut, const double *sums, uint32_t layers, uint32_t stages,
              fd_error *error)
{
    if (stages == 0) {
        return fd_fail(error, FD_EINVAL, "0 stages: at least one");
    }
    if (stages > FD_STAGES_MAX) {
        return fd_fail(error, FD_EINVAL, "%u stages: at most %d",
                       (unsigned)stages, FD_STAGES_MAX);
    }
    if (cut == FD_CUT_UNIFORM) {
        return FD_OK;
    }
    if (layers > FD_LAYERS_MAX) {
        return fd_fail(error, FD_EINVAL,
                       "%u layers: at most %d can be weighed",
                       (unsigned)layers, FD_LAYERS_MAX);
    }
    for (uint32_t i = 0; i < layers; i++) {
        if (!(sums[i + 1] >= sums[i] && isfinite(sums[i + 1]))) {
            return fd_fail(
                error, FD_EINVAL,
                "layer %u: its weight is negative, not a number, or "
                "too large",
                (unsigned)i);
        }
    }
    return FD_OK;
}

fd_status
fd_partition(fd_cut cut, const double *sums, uint32_t layers, uint32_t stages,
             uint32_t *cuts, fd_error *error)
{
    fd_status status = check_request(cut, sums, layers, stages, error);
    if (status != FD_OK) {
        return status;
    }
    table t = {
        .sums = sums, .layers = layers, .stages = stages, .bound = INFINITY};
    if (cut == FD_CUT_UNIFORM || layers <= stages) {
        cut_uniform(layers, stages, cuts);
        return FD_OK;
    }
    if (cut == FD_CUT_BALANCED) {
        return cut_by(fill_balanced, &t, cuts);
    }
    t.bound = least_bound(&t);
    return cut_by(fill_bounded, &t, cuts);
}
