#include "check.h"

#include "clocks/ping.h"

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
    while (recv(l->fd, request, sizeof request, 0) == FD_PING_REQUEST) {
        int64_t now = fd_ping_now();
        memcpy(reply, request + FD_PING_TOKEN, 8);
        memcpy(reply + 8, &now, sizeof now);
        send(l->fd, reply, FD_PING_REPLY - 1, 0);
        send(l->fd, reply, FD_PING_REPLY + 1, 0);
        send(l->fd, TOKEN, FD_PING_REPLY, 0);
        if (l->asked++ % 2 == 1) {
            send(l->fd, reply, FD_PING_REPLY, 0);
        }
    }
    return NULL;
}

ONCE(invalid_replies)
{
    int fds[2];
    pthread_t thread;
    fd_ping_client client;
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0);
    bad_server l = {fds[0], 0};
    memcpy(client.token, TOKEN, FD_PING_TOKEN);
    OK(fd_ping_client_start(&client, fds[1], NULL));
    pthread_create(&thread, NULL, reply_badly, &l);
    wait_ms(300);
    fd_ping_thread_end(&client.thread);
    bool sound = client.kept > 0;
    for (size_t i = 0; i < client.kept; i++) {
        const fd_ping *ping = &client.pings[i];
        sound = sound && ping->sent <= ping->replied
             && ping->replied <= ping->received;
    }
    shutdown(fds[0], SHUT_RDWR);
    pthread_join(thread, NULL);
    check_close(&fds[0]);
    CHECK(sound);
    CHECK(l.asked > 2);
}
