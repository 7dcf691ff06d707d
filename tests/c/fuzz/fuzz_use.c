#include "fuzz.h"
#include "timelines.h"

#include "base/hash.h"
#include "events/recorded/timeline_exports.h"
#include "events/stats/event_rows.h"
#include "profile/profile_rows.h"
#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

static void
use_analysis(const fd_trace *trace)
{
    fd_totals totals;
    must(fd_totals_sum(&totals, trace, FD_ALL_RANKS, false) == FD_OK);
    for (int by = FD_BY_NODE; by <= FD_BY_PACKAGE; by++) {
        fd_groups groups;
        fd_rows rows = {NULL, 0, 0};
        must(fd_groups_make(&groups, trace, (fd_grouping)by) == FD_OK);
        must(fd_rows_sum(&rows, trace, &groups, &totals) == FD_OK);
        fd_vector_clear(&rows);
        fd_groups_clear(&groups);
    }
    fd_totals_clear(&totals);
}

static void
use_exports(const fd_trace *trace)
{
    static fd_export *const writers[] = {fd_export_chrome, fd_export_perfetto};
    fd_export_options options = {.rank = FD_ALL_RANKS};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        fd_buffer text = {.bytes = NULL};
        fd_status status = writers[i](trace, &options, &text, NULL);
        must(status == FD_OK || status == FD_EINVAL || status == FD_EFORMAT);
        fd_buffer_clear(&text);
    }
}

void
fuzz_shrink(const uint8_t *data, size_t size)
{
    uint64_t hash = fd_hash_bytes((const char *)data, size) >> 20;
    fd_budget_shrink(hash % 2 == 0 ? 100 + hash / 2 % 400
                                   : 500 + hash / 2 % 5000);
}

void
fuzz_use(const fd_trace *trace)
{
    fd_trace *again = fd_trace_new();
    fd_merge_ids ids = {.texts = NULL};
    must(again != NULL && fixture_sound(trace));
    use_analysis(trace);
    use_exports(trace);
    must(fd_merge_shared(again, trace, &ids) == FD_OK);
    must(fd_merge_ranks(again, trace, &ids) == FD_OK);
    must(fd_trace_sort(again) == FD_OK);
    must(fixture_same(trace, again));
    fd_arena_clear(&ids.arena);
    fd_trace_free(again);
}

/* Any kind, so that all arguments are read. */
static bool
any_kind(void *context, fd_span subject, fd_slice_kind *kind)
{
    uint64_t hash = fd_hash_bytes(subject.from, fd_span_size(subject));
    (void)context;
    *kind = (fd_slice_kind){(uint32_t)hash, 0, (int64_t)hash,
                            (uint32_t)(hash >> 60)};
    return true;
}

static bool
take_events(void *context, const fd_event_row *rows, uint32_t count,
            const fd_text_pool *texts)
{
    for (uint32_t i = 0; i < count; i++) {
        *(uint64_t *)context += rows[i].repairs + rows[i].slashes;
        must((rows[i].flags & FD_ROW_END) == 0
             || rows[i].start <= rows[i].end);
        must(rows[i].name == 0 || rows[i].name < texts->texts.count);
    }
    return true;
}

fd_status
fuzz_events(const char *path, uint64_t *faults)
{
    uint64_t repairs = 0;
    fd_event_facts facts;
    fd_event_rows_request request = {
        .take = take_events, .kind_of = any_kind, .context = &repairs};
    fd_status status = fd_event_rows_read(path, &request, &facts, NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EVERSION);
    *faults = facts.lost + repairs;
    return status;
}
