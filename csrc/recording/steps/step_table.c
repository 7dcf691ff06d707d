#include "recording/steps/step_table.h"

#include <string.h>

void
fd_steps_init(fd_steps *steps, fd_recording *recording)
{
    *steps = (fd_steps){.recording = recording};
}

/* Return the record of a step; `earlier` recorded ones ended before it. */
static fd_step *
step_slot(const fd_recording *recording, uint64_t earlier)
{
    return &recording->steps[earlier % FD_STEPS_KEPT];
}

/* Discard the steps so far; figures since the start become part of the step
 * that ends now. */
static void
discard_steps(fd_steps *steps, fd_header *header)
{
    fd_recording *recording = steps->recording;
    memset(recording->steps, 0, FD_STEPS_KEPT * sizeof(fd_step));
    header->steps = 0;
    steps->number = header->first_step;
    steps->begin = header->resumed;
    steps->sum = steps->window;
    fd_snapshots_discard(&steps->snapshots);
    for (fd_tree *tree = recording->trees; tree != NULL; tree = tree->next) {
        for (uint32_t i = 0; i < tree->chunks.count; i++) {
            const fd_chunk *hot = tree->chunks.list[i];
            fd_spread *spreads = fd_tree_spreads(&recording->file, hot);
            if (spreads != NULL) {
                memset(spreads, 0, hot->used * sizeof *spreads);
            }
        }
    }
}

static void
widen_spread(float *min, float *max, double *squares, uint64_t value,
             bool first)
{
    float v = (float)value;
    *min = first || v < *min ? v : *min;
    *max = first || v > *max ? v : *max;
    *squares += (double)value * (double)value;
}

static void
add_to_top(fd_step *step, uint32_t context, uint64_t self)
{
    float value = (float)self;
    int at = FD_STEP_TOP;
    while (at > 0 && step->top[at - 1].self < value) {
        at--;
    }
    if (at < FD_STEP_TOP) {
        memmove(&step->top[at + 1], &step->top[at],
                (size_t)(FD_STEP_TOP - 1 - at) * sizeof step->top[0]);
        step->top[at] = (fd_step_top){context, value};
    }
}

/* Add one context to the step that ends: its own time since the last step end,
 * plus that of its children. Return the total. A value of a running thread may
 * lack its latest event, which then becomes part of the next step. */
static FD_READS_RUNNING uint64_t
close_context(const fd_context *context, fd_spread *spread, uint64_t number,
              uint64_t *self)
{
    uint32_t calls = (uint32_t)(context->calls + context->resumes);
    *self = context->self - spread->self_mark;
    uint64_t total = *self + spread->pending;
    if (total > 0 || calls != spread->calls_mark) {
        bool first = spread->steps == 0;
        widen_spread(&spread->self_min, &spread->self_max,
                     &spread->self_squares, *self, first);
        widen_spread(&spread->total_min, &spread->total_max,
                     &spread->total_squares, total, first);
        spread->steps++;
        spread->last_step = (uint32_t)number;
        spread->self_mark += *self;
        spread->calls_mark = calls;
        spread->resumes_mark = (uint32_t)context->resumes;
        spread->pending = 0;
    }
    return total;
}

/* Mark an asynchronous context: its time is excluded from steps, but included
 * in snapshots. */
static FD_READS_RUNNING void
mark_async(const fd_context *context, fd_spread *spread, uint64_t number)
{
    uint32_t calls = (uint32_t)(context->calls + context->resumes);
    if (context->self != spread->self_mark || calls != spread->calls_mark) {
        spread->self_mark = context->self;
        spread->calls_mark = calls;
        spread->resumes_mark = (uint32_t)context->resumes;
        spread->last_step = (uint32_t)number;
    }
}

/* End the step for a chunk of contexts. Children were created after their
 * parents, so one pass from the newest to the oldest sums every subtree. */
static void
close_chunk(fd_tree *tree, fd_chunk *hot, fd_step *step, uint64_t number)
{
    const fd_context *contexts = fd_chunk_records(hot);
    const fd_file *file = &tree->recording->file;
    fd_spread *spreads = fd_tree_spreads(file, hot);
    for (uint32_t i = spreads != NULL ? hot->used : 0; i-- > 0;) {
        const fd_context *context = &contexts[i];
        if ((context->flags & FD_CONTEXT_ASYNC) != 0) {
            mark_async(context, &spreads[i], number);
            continue;
        }
        uint64_t self;
        uint64_t total = close_context(context, &spreads[i], number, &self);
        if (total == 0) {
            continue;
        }
        const fd_context *parent = fd_tree_context(tree, context->parent);
        if (context->parent != 0 && parent->spread != 0) {
            fd_spread *above = fd_file_record(file, parent->spread);
            above->pending += total;
        }
        if (step != NULL && self > 0) {
            step->phases[context->flags & FD_CONTEXT_PHASE] += self;
            add_to_top(step, fd_tree_id(tree, context), self);
        }
    }
}

/* Return the sum of all threads. */
static FD_READS_RUNNING uint64_t
communicated_bytes(const fd_recording *recording)
{
    uint64_t sum = 0;
    for (const fd_tree *at = recording->trees; at != NULL; at = at->next) {
        sum += at->measures.communicated;
    }
    return sum;
}

static void
set_measured(fd_steps *steps, fd_step *step)
{
    uint64_t sum = communicated_bytes(steps->recording);
    step->communicated = steps->communicated ? sum - steps->sum + 1 : 0;
    step->live = steps->live;
    steps->sum = sum;
}

static void
close_tree(fd_tree *tree, fd_step *step, uint64_t number)
{
    for (uint32_t i = tree->chunks.count; i-- > 0;) {
        close_chunk(tree, tree->chunks.list[i], step, number);
    }
}

void
fd_steps_begin(fd_steps *steps, uint64_t number, uint64_t now)
{
    fd_header *header = fd_file_header(&steps->recording->file);
    if (header->steps == 0) {
        header->first_step = number;
    }
    steps->begin = now;
    steps->number = number;
    pthread_mutex_lock(&steps->recording->lock);
    steps->window = communicated_bytes(steps->recording);
    pthread_mutex_unlock(&steps->recording->lock);
    steps->sum = steps->window;
}

static void
end_step(fd_steps *steps, fd_tree *tree, fd_header *header)
{
    fd_recording *recording = steps->recording;
    uint64_t number = steps->number;
    uint64_t now = fd_clock_ticks();
    if (header->timing != 0) {
        fd_tree_tick(tree, now);
    }
    fd_step *step = step_slot(recording, header->steps);
    *step = (fd_step){.number = number, .begin = steps->begin, .end = now};
    for (fd_tree *at = recording->trees; at != NULL; at = at->next) {
        close_tree(at, at == tree ? step : NULL, number);
    }
    set_measured(steps, step);
    steps->begin = now;
    steps->number++;
    fd_snapshots_end(&steps->snapshots, tree, step);
}

/* Restore a context to the last step end, or mark it if it is new. Return the
 * removed ticks. */
static uint64_t
drop_context(fd_context *context, fd_spread *spread, uint64_t number)
{
    if ((spread->self_mark | spread->calls_mark | spread->steps) == 0) {
        mark_async(context, spread, number);
        return 0;
    }
    uint32_t resumes = (uint32_t)context->resumes - spread->resumes_mark;
    uint32_t entered =
        (uint32_t)(context->calls + context->resumes) - spread->calls_mark;
    uint64_t ticks = context->self - spread->self_mark;
    if (context->parent != 0) { /* a root counts threads */
        context->calls -= entered - resumes;
        context->resumes -= resumes;
    }
    context->self -= ticks;
    return (context->flags & FD_CONTEXT_ASYNC) == 0 ? ticks : 0;
}

/* Restore the contexts of a thread. Time beyond that of the part is of a wait
 * that began before it, and that a later event charged. */
static uint64_t
drop_tree(const fd_steps *steps, fd_tree *tree, uint64_t part)
{
    const fd_file *file = &steps->recording->file;
    uint64_t ticks = 0;
    for (uint32_t k = 0; k < tree->chunks.count; k++) {
        fd_chunk *hot = tree->chunks.list[k];
        fd_context *contexts = fd_chunk_records(hot);
        fd_spread *spreads = fd_tree_spreads(file, hot);
        for (uint32_t i = 0; spreads != NULL && i < hot->used; i++) {
            ticks += drop_context(&contexts[i], &spreads[i], steps->number);
        }
    }
    fd_thread_record *record = tree->record;
    if (ticks > part && record->step_context != 0) {
        fd_tree_context(tree, record->step_context)->self += ticks - part;
        ticks = part;
    }
    double ns = (double)ticks / fd_file_header(file)->hertz * 1e9;
    uint64_t since = record->cpu - record->step_cpu;
    record->cpu -= (double)since < ns ? since : (uint64_t)ns;
    record->covered -= ticks;
    return ticks;
}

/* The thread that was recorded for longest was so for the whole part. */
void
fd_steps_drop(fd_steps *steps, uint64_t part)
{
    uint64_t most = 0;
    pthread_mutex_lock(&steps->recording->lock);
    for (fd_tree *at = steps->recording->trees; at != NULL; at = at->next) {
        uint64_t ticks = drop_tree(steps, at, part);
        most = ticks > most ? ticks : most;
    }
    fd_file_header(&steps->recording->file)->recorded -= most;
    pthread_mutex_unlock(&steps->recording->lock);
}

static FD_READS_RUNNING uint64_t
calls_of_tree(const fd_tree *tree)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tree->chunks.count; i++) {
        fd_chunk *hot = tree->chunks.list[i];
        const fd_context *contexts = fd_chunk_records(hot);
        for (uint32_t k = 0; k < hot->used; k++) {
            sum += contexts[k].calls + contexts[k].resumes;
        }
    }
    return sum;
}

uint64_t
fd_steps_calls(const fd_steps *steps)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&steps->recording->lock);
    for (const fd_tree *at = steps->recording->trees; at != NULL;
         at = at->next) {
        sum += calls_of_tree(at);
    }
    pthread_mutex_unlock(&steps->recording->lock);
    return sum;
}

bool
fd_steps_end(fd_steps *steps, fd_tree *tree, uint32_t source)
{
    fd_recording *recording = steps->recording;
    fd_header *header = fd_file_header(&recording->file);
    pthread_mutex_lock(&recording->lock);
    bool counts = source >= header->steps_source;
    if (counts) {
        if (source > header->steps_source) {
            discard_steps(steps, header);
        }
        header->steps_source = source;
        end_step(steps, tree, header);
    }
    pthread_mutex_unlock(&recording->lock);
    if (counts && tree->events.chunk != NULL) {
        const fd_step *step = step_slot(recording, header->steps - 1);
        fd_tree_event(tree, (fd_event){step->begin, step->end - step->begin,
                                       (uint32_t)step->number, FD_EVENT_STEP,
                                       (uint16_t)source});
    }
    return counts;
}
