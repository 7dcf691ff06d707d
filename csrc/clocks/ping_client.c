#include "clocks/ping.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    NS_PER_MS = 1000000,
    BURST_BETWEEN = 16,
    KEPT_OF_BURST = 4,
    BURST_MS = 200,         /* maximum duration of a burst */
    FIRST_PATIENCE_MS = 25, /* maximum wait for one reply */
    LAST_PATIENCE_MS = 200,
    FIRST_PAUSE_MS = 1000,
    LAST_PAUSE_MS = 10000
};

/* Wait for a reply until `deadline`. Unless `ending`, also stop waiting when
 * the thread is to end. */
static bool
wait_until(const fd_ping_client *c, int64_t deadline, bool ending)
{
    struct pollfd polled[2] = {{c->thread.socket, POLLIN, 0},
                               {c->thread.ends, POLLIN, 0}};
    int64_t left = deadline - fd_ping_now();
    if (left <= 0) {
        return false;
    }
    int ready = poll(polled, ending ? 1 : 2, (int)(left / NS_PER_MS) + 1);
    return (ready > 0 && (ending || polled[1].revents == 0))
        || (ready < 0 && errno == EINTR);
}

static bool
send_request(fd_ping_client *c, fd_ping *ping)
{
    uint8_t request[FD_PING_REQUEST];
    c->number++;
    memcpy(request, c->token, FD_PING_TOKEN);
    memcpy(request + FD_PING_TOKEN, &c->number, sizeof c->number);
    ping->sent = fd_ping_now();
    return send(c->thread.socket, request, sizeof request,
                MSG_NOSIGNAL | MSG_DONTWAIT)
        == (ssize_t)sizeof request;
}

/* Receive the reply to the latest request; skip all other datagrams. */
static bool
receive_reply(fd_ping_client *c, int64_t deadline, bool ending, fd_ping *ping)
{
    uint8_t reply[FD_PING_REPLY];
    while (wait_until(c, deadline, ending)) {
        ssize_t got = recv(c->thread.socket, reply, sizeof reply,
                           MSG_DONTWAIT | MSG_TRUNC);
        ping->received = fd_ping_now();
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            return false; /* connection refused */
        }
        if (got == sizeof reply
            && memcmp(reply, &c->number, sizeof c->number) == 0) {
            memcpy(&ping->replied, reply + sizeof c->number,
                   sizeof ping->replied);
            return true;
        }
    }
    return false;
}

/* Make space for a round trip: drop every second burst and double the
 * pauses. */
static void
make_room(fd_ping_client *c)
{
    uint32_t kept = 0;
    if (c->kept + KEPT_OF_BURST <= FD_PING_KEPT) {
        return;
    }
    for (uint32_t i = 0; i < c->kept; i++) {
        if (i / KEPT_OF_BURST % 2 == 0) {
            c->pings[kept++] = c->pings[i];
        }
    }
    c->kept = kept;
    c->pause_ms *= 2;
}

/* Insert a round trip if it is one of the fastest. */
static void
keep_ping(fd_ping *best, uint32_t *count, const fd_ping *one)
{
    uint32_t at = *count;
    int64_t trip = one->received - one->sent;
    while (at > 0 && best[at - 1].received - best[at - 1].sent > trip) {
        if (at < KEPT_OF_BURST) {
            best[at] = best[at - 1];
        }
        at--;
    }
    if (at < KEPT_OF_BURST) {
        best[at] = *one;
        *count += *count < KEPT_OF_BURST;
    }
}

/* Send requests one after the other and keep the fastest replies. After a
 * burst without replies, the next one waits longer for each. */
static void
send_burst(fd_ping_client *c, int many, int budget_ms, bool ending)
{
    fd_ping best[KEPT_OF_BURST];
    uint32_t count = 0;
    int64_t now = fd_ping_now();
    const int64_t end = now + (int64_t)budget_ms * NS_PER_MS;
    const int64_t patience = (int64_t)c->patience_ms * NS_PER_MS;
    for (int i = 0; i < many && now < end; i++) {
        fd_ping one;
        int64_t deadline = now + patience < end ? now + patience : end;
        if (send_request(c, &one)
            && receive_reply(c, deadline, ending, &one)) {
            keep_ping(best, &count, &one);
        }
        now = fd_ping_now();
    }
    if (count == 0 && c->patience_ms < LAST_PATIENCE_MS) {
        c->patience_ms *= 2;
    }
    make_room(c);
    for (uint32_t i = 0; i < count; i++) {
        c->pings[c->kept++] = best[i];
    }
}

/* Sleep between bursts. Return true if the thread is to end, or cannot
 * sleep. */
static bool
rest_between(const fd_ping_client *c)
{
    struct pollfd polled = {c->thread.ends, POLLIN, 0};
    return poll(&polled, 1, c->pause_ms) != 0;
}

static void *
run_client(void *context)
{
    fd_ping_client *c = context;
    send_burst(c, FD_PING_BURST, BURST_MS, false);
    while (!rest_between(c)) {
        send_burst(c, c->kept == 0 ? FD_PING_BURST : BURST_BETWEEN, BURST_MS,
                   false);
        c->pause_ms = 2 * c->pause_ms < LAST_PAUSE_MS ? 2 * c->pause_ms
                    : c->pause_ms > LAST_PAUSE_MS     ? c->pause_ms
                                                      : LAST_PAUSE_MS;
    }
    send_burst(c, FD_PING_BURST, FD_PING_END_MS, true);
    return NULL;
}

fd_status
fd_ping_client_start(fd_ping_client *c, int socket, fd_error *error)
{
    c->kept = 0;
    c->pause_ms = FIRST_PAUSE_MS;
    c->patience_ms = FIRST_PATIENCE_MS;
    if (getrandom(&c->number, sizeof c->number, GRND_NONBLOCK) < 0) {
        c->number = (uint64_t)fd_ping_now();
    }
    return fd_ping_thread_start(&c->thread, socket, run_client, c, error);
}
