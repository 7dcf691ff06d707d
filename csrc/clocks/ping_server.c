#include "clocks/ping.h"

#include "base/alloc.h"
#include "clocks/ping_socket.h"
#include "clocks/ping_thread.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* After this number of invalid datagrams the thread stops reading for a while,
 * so that a flood takes little processor time from the program. */
enum { MOST_STRANGE = 256, REST_MS = 10, ROUND = 1024 };

struct fd_ping_server {
    fd_ping_thread thread;
    uint8_t token[FD_PING_TOKEN];
};

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
fd_ping_server_open(fd_ping_server **server, const char *address,
                    const uint8_t token[FD_PING_TOKEN], uint16_t *port,
                    fd_error *error)
{
    *server = NULL;
    int fd = -1;
    fd_status status = fd_ping_socket_bind(&fd, address, port, error);
    if (status != FD_OK) {
        return status;
    }
    fd_ping_server *s = fd_calloc(1, sizeof *s);
    if (s == NULL) {
        close(fd);
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    memcpy(s->token, token, FD_PING_TOKEN);
    status = fd_ping_thread_start(&s->thread, fd, serve_pings, s);
    if (status != FD_OK) {
        status = fd_fail(error, status, "cannot serve the clock: %s",
                         strerror(errno));
        fd_ping_server_close(s);
        return status;
    }
    *server = s;
    return FD_OK;
}

void
fd_ping_server_close(fd_ping_server *s)
{
    if (s != NULL) {
        fd_ping_thread_end(&s->thread);
        fd_free(s);
    }
}
