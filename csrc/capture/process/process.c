#include "capture/process/process.h"

/* Generation 0 is that of threads that have to synchronize first. */
fd_process_state fd_process = {.generation = 1, .deadline = UINT64_MAX};

void
fd_process_activate(struct fd_session *session, uint32_t serial)
{
    atomic_store(&fd_process.active, session);
    atomic_store(&fd_process.serial, serial);
}

void
fd_process_next_generation(void)
{
    atomic_fetch_add(&fd_process.generation, 1);
}
