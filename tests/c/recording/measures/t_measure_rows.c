#include "check.h"
#include "fixtures.h"

#include "recording/measures/latest_calls.h"

ABSORBS(cleared_rings_start_again)
{
    FIXTURE(f, NULL, 1);
    fd_measures *measures = &f.main->measures;
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "c10d::barrier"));
    for (uint32_t group = 8; group <= 24; group += 8) {
        fd_latest_begin(f.main, &(fd_latest_call){group, 9, 1, 0, true});
        OK(measures->latest != NULL && measures->latest->group == group
               ? FD_OK
               : FD_ENOMEM);
    }
    fd_measures_clear_latest(measures);
    CHECK(measures->latest == NULL && measures->open == NULL);
    EQUAL(measures->pool.count, 3); /* the records stay in the file */
    fd_latest_begin(f.main, &(fd_latest_call){8, 9, 2, 0, true});
    ALLOCATED(measures->latest != NULL);
    EQUAL(measures->latest->kept, 1);
    fixture_leave(f.main);
}
