/* Measurement of the difference between the clocks of two processes: the
 * client sends a request, the server replies with its CLOCK_BOOTTIME, and the
 * client stores both times of its clock. With datagrams, an outside host
 * cannot keep a connection open or fill a table:
 *
 *     client     token 16 B, number 8 B
 *     server                    number 8 B, time in ns 8 B
 *
 * The server ignores requests without the token of the run, and a reply is
 * shorter than its request. Each runs in its own thread, without Python, with
 * all signals blocked. Errors end the thread; the reason is stored. */
#ifndef FD_PING_H
#define FD_PING_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FD_PING_TOKEN = 16,
    FD_PING_REQUEST = FD_PING_TOKEN + 8, /* bytes */
    FD_PING_REPLY = 16,
    FD_PING_BURST = 64,  /* requests of the first and last burst; 16 in other
                          * bursts */
    FD_PING_KEPT = 1024, /* maximum of stored round trips, the fastest of each
                          * burst */
    FD_PING_END_MS = 20  /* maximum duration of the last burst */
};

typedef struct fd_ping_server fd_ping_server;
typedef struct fd_ping_client fd_ping_client;

/* A round trip in ns of CLOCK_BOOTTIME: client, server, client. */
typedef struct fd_ping {
    int64_t sent;
    int64_t replied;
    int64_t received;
} fd_ping;

/* Return CLOCK_BOOTTIME in ns. */
int64_t fd_ping_now(void);

/* Reply on any free port of a numeric address until the server is closed.
 * FD_EINVAL for a wildcard address, and for text that is not an address. */
fd_status fd_ping_server_open(fd_ping_server **server, const char *address,
                              const uint8_t token[FD_PING_TOKEN],
                              uint16_t *port, fd_error *error);
void fd_ping_server_close(fd_ping_server *server);

/* Send a burst of requests immediately, then periodically, and a last one when
 * finished. */
fd_status fd_ping_client_open(fd_ping_client **client, const char *address,
                              uint16_t port,
                              const uint8_t token[FD_PING_TOKEN],
                              fd_error *error);

/* End the thread, within about FD_PING_END_MS. The result is valid until the
 * client is closed. `trouble` is the reason for an empty result, otherwise
 * "". */
const fd_ping *fd_ping_client_finish(fd_ping_client *client, size_t *count,
                                     const char **trouble);
void fd_ping_client_close(fd_ping_client *client);

#endif
