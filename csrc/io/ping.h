/* How far the clocks of two processes are apart, by asking: one answers with
 * its CLOCK_BOOTTIME, the other notes when it asked and when the answer came.
 * Datagrams, so that a stranger can hold nothing open and fill no table:
 *
 *     asker     token 16 B, number 8 B
 *     answerer                 number 8 B, time in ns 8 B
 *
 * The answerer sends nothing to who does not know the token of the run, and an
 * answer is shorter than its question. Both are threads of our own that know
 * nothing of Python and take no signals. What fails ends quietly, with a word
 * about why. */
#ifndef FD_PING_H
#define FD_PING_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FD_PING_TOKEN = 16,
    FD_PING_QUESTION = FD_PING_TOKEN + 8, /* bytes */
    FD_PING_ANSWER = 16,
    FD_PING_BURST = 64, /* questions at the begin and the end; 16 between */
    FD_PING_KEPT = 1024, /* round trips, of the fastest of every burst */
    FD_PING_END_MS = 20 /* what the end may take */
};

typedef struct fd_ping_answerer fd_ping_answerer;
typedef struct fd_ping_asker fd_ping_asker;

/* A round trip in ns of CLOCK_BOOTTIME: ours, theirs, ours. */
typedef struct fd_ping {
    int64_t sent;
    int64_t answered;
    int64_t received;
} fd_ping;

/* CLOCK_BOOTTIME in ns. */
int64_t fd_ping_now(void);

/* Answer on any free port of this one numeric address until closed. FD_EINVAL
 * for an address that stands for all of a host, and for what is none. */
fd_status fd_ping_answerer_open(fd_ping_answerer **answerer,
                                const char *address,
                                const uint8_t token[FD_PING_TOKEN],
                                uint16_t *port, fd_error *error);
void fd_ping_answerer_close(fd_ping_answerer *answerer);

/* Ask there at once, now and then, and once more when finished. */
fd_status fd_ping_asker_open(fd_ping_asker **asker, const char *address,
                             uint16_t port,
                             const uint8_t token[FD_PING_TOKEN],
                             fd_error *error);

/* End it; takes at most some FD_PING_END_MS. What it found stays valid until
 * it is closed. `trouble` is why there is nothing; "". */
const fd_ping *fd_ping_asker_finish(fd_ping_asker *asker, size_t *count,
                                    const char **trouble);
void fd_ping_asker_close(fd_ping_asker *asker);

#endif
