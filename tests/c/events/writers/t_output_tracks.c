#include "check.h"

#include "events/writers/perfetto_writer.h"
#include "events/writers/perfetto_writing.h"

typedef struct output {
    fd_perfetto_spare spare;
    uint32_t spare_pid;
    uint32_t spare_tid;
    fd_timeline_ids ids;
    fd_perfetto_tables tables;
    fd_perfetto_writer *writer;
} output;

static void
output_clear(output *o)
{
    fd_timeline_ids_clear(&o->ids);
    fd_perfetto_tables_clear(&o->tables);
    fd_perfetto_writer_free(o->writer);
}

static fd_status
output_begin(output *o)
{
    *o = (output){.spare = {1, 1}, .spare_pid = 9, .spare_tid = 7};
    o->ids = (fd_timeline_ids){.inputs = 1,
                               .label = "",
                               .program = "",
                               .spare_pid = &o->spare_pid,
                               .spare_tid = &o->spare_tid};
    o->writer = fd_perfetto_writer_new(NULL, "unused", &o->spare);
    return o->writer != NULL ? FD_OK : FD_ENOMEM;
}

/* Add a track; return the status of finding its place. */
static fd_status
add(output *o, uint64_t uuid, uint64_t parent, fd_perfetto_track_kind kind)
{
    fd_status status = FD_OK;
    fd_perfetto_track *track = fd_perfetto_track_of(&o->tables, uuid, &status);
    if (track != NULL) {
        track->parent = parent;
        track->kind = kind;
        track->has_pid =
            kind == FD_PERFETTO_PROCESS || kind == FD_PERFETTO_THREAD;
        track->pid = 3;
        track->tid = 4;
    }
    return status;
}

static fd_status
find(output *o, uint64_t uuid, fd_output_track *place)
{
    fd_status status = FD_OK;
    const fd_perfetto_track *track =
        fd_perfetto_track_of(&o->tables, uuid, &status);
    return status == FD_OK
             ? fd_output_track_of(o->writer, &o->ids, &o->tables, track, place)
             : status;
}

static void
tracks_below_tracks(void)
{
    CLEAN(output_clear) output o;
    fd_output_track inner;
    fd_output_track again;
    OK(output_begin(&o));
    OK(add(&o, 1, 0, FD_PERFETTO_PROCESS));
    OK(add(&o, 2, 1, FD_PERFETTO_THREAD));
    OK(add(&o, 3, 2, FD_PERFETTO_OTHER));
    OK(add(&o, 4, 3, FD_PERFETTO_COUNTS));
    OK(find(&o, 4, &inner));
    OK(find(&o, 4, &again));
    EQUAL(again.track, inner.track);
    EQUAL(o.writer->threads.count, 1);
    EQUAL(o.writer->named.count, 2);
    const fd_perfetto_named *named = o.writer->named.list;
    EQUAL(named[0].parent, o.writer->threads.list[0].track);
    EQUAL(named[1].parent, named[0].track);
    EQUAL(named[1].track, inner.track);
    CHECK(named[1].counts);
    EQUAL(inner.lane, FD_PERFETTO_LANE(1, true));
    OK(find(&o, 1, &again));
    EQUAL(again.track, o.writer->processes.list[again.process].track);
}

static void
parents_in_a_cycle(void)
{
    CLEAN(output_clear) output o;
    fd_output_track place;
    OK(output_begin(&o));
    OK(add(&o, 3, 4, FD_PERFETTO_OTHER));
    OK(add(&o, 4, 3, FD_PERFETTO_OTHER));
    OK(find(&o, 3, &place));
    CHECK(o.writer->named.count <= FD_PERFETTO_PARENTS + 1);
}

RUN(TEST(tracks_below_tracks), TEST(parents_in_a_cycle))
