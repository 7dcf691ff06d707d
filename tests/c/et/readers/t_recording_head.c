#include "fixtures.h"

#include "et/readers/recording_head.h"

static void
close_chunks(fd_chunks *file)
{
    fd_chunks_close(file);
}

ABSORBS(known_facts)
{
    FIXTURE(f, "h.fd", 4);
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(close_chunks) fd_chunks file = {.base = NULL};
    /* The last fact of a name counts. */
    fd_recording_note(f.recording, "host", "\"first\"");
    fd_recording_note(f.recording, "host", "\"node\\u00371\"");
    fd_recording_note(
        f.recording, "process_groups",
        "[{\"pg_name\":\"0\",\"ranks\":[],\"group_size\":2},"
        "{\"pg_name\":\"1\",\"ranks\":[1],\"fd_address\":4096}]");
    fixture_stop(&f);
    OK(fd_chunks_open(&file, "h.fd", FD_CHUNKS_ALL, NULL));
    ENTER(&et.arena);
    fd_et_put_recording_head(&et, &file);
    EQUAL(et.pid, fd_chunks_header(&file)->pid);
    EQUAL(et.rank, fd_chunks_header(&file)->rank);
    EQUAL(et.finished, true);
    if (check_refused()) {
        return; /* facts may be lacking */
    }
    SAME(fd_et_text(&et, et.host), "node71");
    EQUAL(et.groups.count, 2);
    SAME(fd_et_text(&et, et.groups.list[1].name), "1");
    EQUAL(et.groups.list[0].address, 0);
    EQUAL(et.groups.list[1].address, 4096);
}
