/* The difference between the clocks of two processes: the asker sends a
 * question, the answerer replies with its CLOCK_BOOTTIME, and the asker notes
 * both times on its own clock. With datagrams, a stranger cannot hold a
 * connection open or fill a table:
 *
 *     asker     token 16 B, number 8 B
 *     answerer                 number 8 B, time in ns 8 B
 *
 * The answerer drops questions without the token of the run, and an answer is
 * shorter than its question. Both run in threads of their own, without Python,
 * with all signals blocked. Errors end quietly, with a reason. */
#ifndef FD_PING_H
#define FD_PING_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FD_PING_TOKEN = 16,
    FD_PING_QUESTION = FD_PING_TOKEN + 8, /* bytes */
    FD_PING_ANSWER = 16,
    FD_PING_BURST = 64,  /* questions at the start and the end; 16 between */
    FD_PING_KEPT = 1024, /* round trips, of the fastest of every burst */
    FD_PING_END_MS = 20  /* what the end may take */
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

/* Answer on any free port of a numeric address until closed. FD_EINVAL for a
 * wildcard address, and for text that is not an address. */
fd_status fd_ping_answerer_open(fd_ping_answerer **answerer,
                                const char *address,
                                const uint8_t token[FD_PING_TOKEN],
                                uint16_t *port, fd_error *error);
void fd_ping_answerer_close(fd_ping_answerer *answerer);

/* Ask there at once, now and then, and once more when finished. */
fd_status fd_ping_asker_open(fd_ping_asker **asker, const char *address,
                             uint16_t port, const uint8_t token[FD_PING_TOKEN],
                             fd_error *error);

/* End the thread, within about FD_PING_END_MS. The result is valid until the
 * asker is closed. `trouble` is the reason for an empty result, else "". */
const fd_ping *fd_ping_asker_finish(fd_ping_asker *asker, size_t *count,
                                    const char **trouble);
void fd_ping_asker_close(fd_ping_asker *asker);

#endif
