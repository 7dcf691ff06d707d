#include "check.h"

#include "clocks/ping.h"
#include "clocks/ping_socket.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static const uint8_t TOKEN[FD_PING_TOKEN] = "0123456789abcde";

static void
wait_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* A server that ignores every second request, and sends invalid replies before
 * each valid one. */
typedef struct bad_server {
    int fd;
    uint32_t asked;
} bad_server;

static void *
reply_badly(void *context)
{
    bad_server *l = context;
    uint8_t request[FD_PING_REQUEST];
    uint8_t reply[FD_PING_REPLY + 1] = {0};
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    while (recvfrom(l->fd, request, sizeof request, 0,
                    (struct sockaddr *)&from, &size)
           == FD_PING_REQUEST) {
        int64_t now = fd_ping_now();
        struct sockaddr *to = (struct sockaddr *)&from;
        memcpy(reply, request + FD_PING_TOKEN, 8);
        memcpy(reply + 8, &now, sizeof now);
        sendto(l->fd, reply, FD_PING_REPLY - 1, 0, to, size);
        sendto(l->fd, reply, FD_PING_REPLY + 1, 0, to, size);
        sendto(l->fd, TOKEN, FD_PING_REPLY, 0, to, size);
        if (l->asked++ % 2 == 1) {
            sendto(l->fd, reply, FD_PING_REPLY, 0, to, size);
        }
        size = sizeof from;
    }
    return NULL;
}

ONCE(invalid_replies)
{
    CLEAN(check_close) int fd = -1;
    uint16_t port = 0;
    pthread_t thread;
    const char *trouble;
    size_t count;
    fd_ping_client *client = NULL;
    OK(fd_ping_socket_bind(&fd, "127.0.0.1", &port, NULL));
    CHECK(fcntl(fd, F_SETFL, 0) == 0); /* blocking */
    bad_server l = {fd, 0};
    OK(fd_ping_client_open(&client, "127.0.0.1", port, TOKEN, NULL));
    pthread_create(&thread, NULL, reply_badly, &l);
    wait_ms(300);
    const fd_ping *pings = fd_ping_client_finish(client, &count, &trouble);
    bool sound = count > 0;
    for (size_t i = 0; i < count; i++) {
        sound = sound && pings[i].sent <= pings[i].replied
             && pings[i].replied <= pings[i].received;
    }
    fd_ping_client_close(client);
    shutdown(fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    CHECK(sound);
    CHECK(l.asked > 2);
}
