#include "recording/measures/measure_rows.h"

#include "base/alloc.h"

void
fd_measures_clear_latest(fd_measures *measures)
{
    for (fd_latest *at = measures->latest, *next; at != NULL; at = next) {
        next = at->next;
        fd_free(at);
    }
    measures->latest = NULL;
    measures->open = NULL;
}
