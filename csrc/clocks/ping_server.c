#include "clocks/ping.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* After this number of invalid datagrams the thread stops reading for a while,
 * so that a flood takes little processor time from the program. */
enum { MOST_STRANGE = 256, REST_MS = 10, ROUND = 1024 };

int64_t
fd_ping_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Compare the token in constant time, wherever the first difference is. */
static bool
has_token(const fd_ping_server *s, const uint8_t *bytes)
{
    unsigned int difference = 0;
    for (int i = 0; i < FD_PING_TOKEN; i++) {
        difference |= (unsigned int)(s->token[i] ^ bytes[i]);
    }
    return difference == 0;
}

/* Read a datagram and reply to it. Return 1 for a valid request, 0 for an
 * invalid one, -1 for an empty queue. */
static int
reply_to_one(const fd_ping_server *s)
{
    uint8_t request[FD_PING_REQUEST];
    uint8_t reply[FD_PING_REPLY];
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    ssize_t got =
        recvfrom(s->thread.socket, request, sizeof request,
                 MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &size);
    int64_t time = fd_ping_now();
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return -1;
    }
    if (got != sizeof request || !has_token(s, request)) {
        return 0;
    }
    memcpy(reply, request + FD_PING_TOKEN, sizeof(uint64_t));
    memcpy(reply + sizeof(uint64_t), &time, sizeof time);
    ssize_t sent =
        sendto(s->thread.socket, reply, sizeof reply,
               MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, size);
    (void)sent; /* the client repeats lost requests */
    return 1;
}

/* Reply to queued requests; return false after too many invalid datagrams. */
static bool
reply_to_some(const fd_ping_server *s)
{
    int strange = 0;
    for (int i = 0; i < ROUND && strange < MOST_STRANGE; i++) {
        int replied = reply_to_one(s);
        if (replied < 0) {
            return true;
        }
        strange += replied == 0;
    }
    return strange < MOST_STRANGE;
}

static void *
serve_pings(void *context)
{
    const fd_ping_server *s = context;
    bool rests = false;
    for (;;) {
        struct pollfd polled[2] = {{s->thread.ends, POLLIN, 0},
                                   {s->thread.socket, POLLIN, 0}};
        int ready = poll(polled, rests ? 1 : 2, rests ? REST_MS : -1);
        if (ready < 0 && errno != EINTR && errno != ENOMEM) {
            return NULL;
        }
        if (ready > 0 && polled[0].revents != 0) {
            return NULL;
        }
        rests = ready < 0 || (!rests && !reply_to_some(s));
    }
}

fd_status
fd_ping_server_start(fd_ping_server *s, int socket, fd_error *error)
{
    return fd_ping_thread_start(&s->thread, socket, serve_pings, s, error);
}
