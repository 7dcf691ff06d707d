/* How far the clocks of two processes are apart, by asking: one answers with
 * its CLOCK_BOOTTIME, the other notes when it asked and when the answer came.
 *
 *     asker     token 16 B, then again and again: number 8 B
 *     answerer  number 8 B, time in ns 8 B
 *
 * Both are threads of our own that know nothing of Python and take no signals.
 * What fails ends quietly, with a word about why. */
#ifndef FD_PING_H
#define FD_PING_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FD_PING_TOKEN = 16,
    FD_PING_ASKERS = 256,   /* at a time */
    FD_PING_BURST = 64,     /* at the begin and the end; 16 between */
    FD_PING_KEPT = 1024,    /* of the fastest of every burst */
    FD_PING_ADDRESSES = 8,
    FD_PING_END_MS = 20     /* what the end may take */
};

typedef struct fd_ping_answerer fd_ping_answerer;
typedef struct fd_ping_asker fd_ping_asker;

/* A round trip in ns of CLOCK_BOOTTIME: ours, theirs, ours. */
typedef struct fd_ping {
    int64_t sent;
    int64_t answered;
    int64_t received;
} fd_ping;

/* Answer on any free port until closed. */
fd_status fd_ping_answerer_open(fd_ping_answerer **answerer,
                                const uint8_t token[FD_PING_TOKEN],
                                uint16_t *port, fd_error *error);
void fd_ping_answerer_close(fd_ping_answerer *answerer);

/* Ask at the first address that answers, at once and now and then, and once
 * more when finished. Addresses are numeric; those past the eighth are not
 * tried. */
fd_status fd_ping_asker_open(fd_ping_asker **asker,
                             const char *const *addresses, size_t count,
                             uint16_t port,
                             const uint8_t token[FD_PING_TOKEN],
                             fd_error *error);

/* End it; takes at most some FD_PING_END_MS. What it found stays valid until
 * it is closed. `trouble` is why there is nothing; "". */
const fd_ping *fd_ping_asker_finish(fd_ping_asker *asker, size_t *count,
                                    const char **trouble);
void fd_ping_asker_close(fd_ping_asker *asker);

#endif
