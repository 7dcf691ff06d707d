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
 * all signals blocked. Errors end the thread. Sockets are non-blocking and
 * close-on-exec; python/fastdispatch/record/clocks.py opens them. */
#ifndef FD_PING_H
#define FD_PING_H

#include "clocks/ping_thread.h"

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

/* A round trip in ns of CLOCK_BOOTTIME: client, server, client. */
typedef struct fd_ping {
    int64_t sent;
    int64_t replied;
    int64_t received;
} fd_ping;

/* Return CLOCK_BOOTTIME in ns. */
int64_t fd_ping_now(void);

/* The structs must not move between the start and the end of the thread. */
typedef struct fd_ping_server {
    fd_ping_thread thread;
    uint8_t token[FD_PING_TOKEN];
} fd_ping_server;

typedef struct fd_ping_client {
    fd_ping_thread thread;
    uint8_t token[FD_PING_TOKEN];
    uint64_t number; /* number of the latest request; starts at random */
    uint32_t kept;   /* number of stored round trips */
    int pause_ms;
    int patience_ms;
    fd_ping pings[FD_PING_KEPT];
} fd_ping_client;

/* Reply on a bound socket until the end of the thread. Fill in the token
 * first. */
fd_status fd_ping_server_start(fd_ping_server *server, int socket,
                               fd_error *error);

/* Send a burst of requests on a connected socket immediately, then
 * periodically, and a last one at the end of the thread, within about
 * FD_PING_END_MS. Fill in the token first. */
fd_status fd_ping_client_start(fd_ping_client *client, int socket,
                               fd_error *error);

#endif
