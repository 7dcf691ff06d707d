#include "check.h"

#include "clocks/ping.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

static const uint8_t TOKEN[FD_PING_TOKEN] = "0123456789abcde";

typedef struct bench {
    fd_ping_server server;
    int requester;
} bench;

static void
bench_clear(bench *b)
{
    fd_ping_thread_end(&b->server.thread);
    check_close(&b->requester);
}

static fd_status
bench_open(bench *b)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof own;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    *b = (bench){.requester = socket(AF_INET, SOCK_DGRAM, 0)};
    memcpy(b->server.token, TOKEN, FD_PING_TOKEN);
    bool ready = bind(fd, (struct sockaddr *)&own, size) == 0
              && getsockname(fd, (struct sockaddr *)&own, &size) == 0
              && connect(b->requester, (struct sockaddr *)&own, size) == 0;
    return ready ? fd_ping_server_start(&b->server, fd, NULL) : FD_EIO;
}

ONCE(a_request_gets_a_reply)
{
    CLEAN(bench_clear) bench b;
    uint8_t request[FD_PING_REQUEST];
    uint8_t reply[64];
    OK(bench_open(&b));
    memcpy(request, TOKEN, FD_PING_TOKEN);
    memcpy(request + FD_PING_TOKEN, "12345678", 8);
    int64_t before = fd_ping_now();
    send(b.requester, request, sizeof request, 0);
    EQUAL(recv(b.requester, reply, sizeof reply, 0), FD_PING_REPLY);
    int64_t time;
    memcpy(&time, reply + 8, sizeof time);
    CHECK(memcmp(reply, "12345678", 8) == 0);
    CHECK(before <= time && time <= fd_ping_now());
}
