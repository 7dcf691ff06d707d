#include "io/ping.h"

#include "base/alloc.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    NS_PER_MS = 1000000,
    ADDRESS_BYTES = 64,
    REQUEST = 8,
    ANSWER = 16,
    BURST_BETWEEN = 16,
    KEPT_OF_BURST = 4,
    CONNECT_MS = 500,
    PING_MS = 100, /* a slower answer says nothing */
    FIRST_PAUSE_MS = 1000,
    LAST_PAUSE_MS = 10000
};

/* A thread, and the descriptor that ends it. In a forked child there is no
 * such thread. */
typedef struct worker {
    pthread_t thread;
    pid_t pid;
    int ends;
    bool running;
} worker;

/* Somebody who asks. */
typedef struct guest {
    int fd;
    bool known; /* the token was right */
    uint32_t got;
    uint8_t bytes[FD_PING_TOKEN];
} guest;

struct fd_ping_answerer {
    worker worker;
    int listener;
    uint8_t token[FD_PING_TOKEN];
    uint32_t count;
    guest guests[FD_PING_ASKERS];
    struct pollfd polled[FD_PING_ASKERS + 2];
};

struct fd_ping_asker {
    worker worker;
    char addresses[FD_PING_ADDRESSES][ADDRESS_BYTES];
    uint32_t address_count;
    uint16_t port;
    uint8_t token[FD_PING_TOKEN];
    int fd;
    uint64_t number;
    uint32_t kept;
    int pause_ms;
    const char *trouble;
    fd_ping pings[FD_PING_KEPT];
};

static int64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static fd_status
start(worker *w, void *(*run)(void *), void *context)
{
    sigset_t all;
    sigset_t before;
    w->pid = getpid();
    w->ends = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->ends < 0) {
        return FD_EIO;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->running = pthread_create(&w->thread, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w->running ? FD_OK : FD_EIO;
}

static void
end(worker *w)
{
    const uint64_t one = 1;
    if (w->running && w->pid == getpid()) {
        ssize_t told = write(w->ends, &one, sizeof one);
        (void)told; /* a counter of 0 always has room */
        pthread_join(w->thread, NULL);
    }
    w->running = false;
    if (w->ends >= 0) {
        close(w->ends);
    }
    w->ends = -1;
}

static void
hurry(int fd)
{
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void
welcome(fd_ping_answerer *a)
{
    int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (a->count == FD_PING_ASKERS) {
        close(fd);
        return;
    }
    hurry(fd);
    a->guests[a->count++] = (guest){.fd = fd};
}

static bool
answer(guest *g)
{
    uint8_t text[ANSWER];
    int64_t time = now();
    memcpy(text, g->bytes, REQUEST);
    memcpy(text + REQUEST, &time, sizeof time);
    g->got = 0;
    return send(g->fd, text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT)
           == ANSWER;
}

/* False: it left, or says what it should not. */
static bool
listen_to(fd_ping_answerer *a, guest *g)
{
    uint32_t wanted = g->known ? REQUEST : FD_PING_TOKEN;
    ssize_t got = recv(g->fd, g->bytes + g->got, wanted - g->got,
                       MSG_DONTWAIT);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    g->got += (uint32_t)got;
    if (got == 0 || g->got < wanted) {
        return got > 0;
    }
    if (g->known) {
        return answer(g);
    }
    g->known = memcmp(g->bytes, a->token, FD_PING_TOKEN) == 0;
    g->got = 0;
    return g->known;
}

static void *
answer_all(void *context)
{
    fd_ping_answerer *a = context;
    for (;;) {
        a->polled[0] = (struct pollfd){a->worker.ends, POLLIN, 0};
        a->polled[1] = (struct pollfd){a->listener, POLLIN, 0};
        for (uint32_t i = 0; i < a->count; i++) {
            a->polled[i + 2] = (struct pollfd){a->guests[i].fd, POLLIN, 0};
        }
        if (poll(a->polled, a->count + 2, -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (a->polled[0].revents != 0) {
            return NULL;
        }
        uint32_t kept = 0;
        for (uint32_t i = 0; i < a->count; i++) {
            guest g = a->guests[i];
            if (a->polled[i + 2].revents == 0 || listen_to(a, &g)) {
                a->guests[kept++] = g;
            }
            else {
                close(g.fd);
            }
        }
        a->count = kept;
        if (a->polled[1].revents != 0) {
            welcome(a);
        }
    }
}

/* On all addresses of both kinds where the machine has both. */
static int
open_listener(uint16_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_addr = {htonl(INADDR_ANY)}};
    const int no = 0;
    const int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    socklen_t size = sizeof six;
    int fd = socket(AF_INET6, kind, 0);
    bool bound = fd >= 0
                 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no)
                        == 0
                 && bind(fd, (struct sockaddr *)&six, sizeof six) == 0;
    if (!bound) {
        if (fd >= 0) {
            close(fd);
        }
        fd = socket(AF_INET, kind, 0);
        bound = fd >= 0
                && bind(fd, (struct sockaddr *)&four, sizeof four) == 0;
    }
    if (bound && listen(fd, FD_PING_ASKERS) == 0
        && getsockname(fd, (struct sockaddr *)&six, &size) == 0) {
        *port = ntohs(six.sin6_port); /* where sin_port is, too */
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

fd_status
fd_ping_answerer_open(fd_ping_answerer **answerer,
                      const uint8_t token[FD_PING_TOKEN], uint16_t *port,
                      fd_error *error)
{
    fd_ping_answerer *a = fd_calloc(1, sizeof *a);
    *answerer = NULL;
    if (a == NULL) {
        return FD_ENOMEM;
    }
    a->worker.ends = -1;
    memcpy(a->token, token, FD_PING_TOKEN);
    a->listener = open_listener(port);
    if (a->listener < 0 || start(&a->worker, answer_all, a) != FD_OK) {
        fd_status status = fd_fail(error, FD_EIO,
                                   "no clock can be offered: %s",
                                   strerror(errno));
        fd_ping_answerer_close(a);
        return status;
    }
    *answerer = a;
    return FD_OK;
}

void
fd_ping_answerer_close(fd_ping_answerer *a)
{
    if (a == NULL) {
        return;
    }
    end(&a->worker);
    for (uint32_t i = 0; i < a->count; i++) {
        close(a->guests[i].fd);
    }
    if (a->listener >= 0) {
        close(a->listener);
    }
    fd_free(a);
}

/* Wait for the socket, at most until `deadline`; false as well when we are to
 * end and `ending` does not say that we know. */
static bool
wait_for(fd_ping_asker *a, short what, int64_t deadline, bool ending)
{
    struct pollfd polled[2] = {{a->fd, what, 0}, {a->worker.ends, POLLIN, 0}};
    for (;;) {
        int64_t left = deadline - now();
        int ready = left > 0 ? poll(polled, ending ? 1 : 2,
                                    (int)(left / NS_PER_MS) + 1)
                             : 0;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        return ready > 0 && (ending || polled[1].revents == 0)
               && (polled[0].revents & what) != 0;
    }
}

static bool
ping(fd_ping_asker *a, int64_t deadline, bool ending, fd_ping *to)
{
    uint8_t text[ANSWER];
    uint64_t number = ++a->number;
    size_t got = 0;
    to->sent = now();
    if (send(a->fd, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT)
        != (ssize_t)sizeof number) {
        return false;
    }
    while (got < sizeof text) {
        if (!wait_for(a, POLLIN, deadline, ending)) {
            return false;
        }
        ssize_t more = recv(a->fd, text + got, sizeof text - got,
                            MSG_DONTWAIT);
        if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR)) {
            return false;
        }
        got += more > 0 ? (size_t)more : 0;
    }
    to->received = now();
    memcpy(&to->answered, text + REQUEST, sizeof to->answered);
    return memcmp(text, &number, sizeof number) == 0;
}

/* When there is no room every second burst between the first and the last
 * goes, and they come half as often. */
static void
make_room(fd_ping_asker *a)
{
    uint32_t kept = 0;
    if (a->kept + KEPT_OF_BURST <= FD_PING_KEPT) {
        return;
    }
    for (uint32_t i = 0; i < a->kept; i++) {
        if (i / KEPT_OF_BURST % 2 == 0) {
            a->pings[kept++] = a->pings[i];
        }
    }
    a->kept = kept;
    a->pause_ms *= 2;
}

/* Keep the fastest few. */
static void
keep(fd_ping *best, uint32_t *count, const fd_ping *one)
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

static bool
burst(fd_ping_asker *a, int many, int budget_ms, bool ending)
{
    fd_ping best[KEPT_OF_BURST];
    uint32_t count = 0;
    int64_t deadline = now() + (int64_t)budget_ms * NS_PER_MS;
    bool alive = true;
    for (int i = 0; i < many && alive; i++) {
        fd_ping one;
        alive = ping(a, deadline, ending, &one);
        if (alive) {
            keep(best, &count, &one);
        }
    }
    make_room(a);
    for (uint32_t i = 0; i < count; i++) {
        a->pings[a->kept++] = best[i];
    }
    return alive;
}

static bool
connect_to(fd_ping_asker *a, const char *address)
{
    char port[8];
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int length = 0;
    for (uint32_t left = a->port; left > 0 || length == 0; left /= 10) {
        memmove(port + 1, port, (size_t)length);
        port[0] = (char)('0' + left % 10);
        length++;
    }
    port[length] = '\0';
    if (getaddrinfo(address, port, &hints, &found) != 0) {
        return false;
    }
    int fault = 0;
    socklen_t size = sizeof fault;
    a->fd = socket(found->ai_family,
                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool up = a->fd >= 0
              && (connect(a->fd, found->ai_addr, found->ai_addrlen) == 0
                  || (errno == EINPROGRESS
                      && wait_for(a, POLLOUT,
                                  now() + (int64_t)CONNECT_MS * NS_PER_MS,
                                  false)
                      && getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &fault, &size)
                             == 0
                      && fault == 0));
    freeaddrinfo(found);
    if (up) {
        hurry(a->fd);
        up = send(a->fd, a->token, FD_PING_TOKEN, MSG_NOSIGNAL | MSG_DONTWAIT)
             == FD_PING_TOKEN;
    }
    if (!up && a->fd >= 0) {
        close(a->fd);
        a->fd = -1;
    }
    return up;
}

/* True when we are to end. */
static bool
rest(fd_ping_asker *a)
{
    struct pollfd polled = {a->worker.ends, POLLIN, 0};
    return poll(&polled, 1, a->pause_ms) > 0;
}

static void *
ask(void *context)
{
    fd_ping_asker *a = context;
    for (uint32_t i = 0; i < a->address_count && a->kept == 0; i++) {
        if (connect_to(a, a->addresses[i])
            && !burst(a, FD_PING_BURST, PING_MS, false) && a->kept == 0) {
            close(a->fd);
            a->fd = -1;
        }
    }
    a->trouble = a->kept == 0 ? "no answer from the clock" : "";
    bool alive = a->kept > 0;
    while (alive && !rest(a)) {
        alive = burst(a, BURST_BETWEEN, PING_MS, false);
        a->pause_ms = 2 * a->pause_ms < LAST_PAUSE_MS ? 2 * a->pause_ms
                      : a->pause_ms > LAST_PAUSE_MS   ? a->pause_ms
                                                      : LAST_PAUSE_MS;
    }
    if (alive) {
        burst(a, FD_PING_BURST, FD_PING_END_MS, true);
    }
    return NULL;
}

fd_status
fd_ping_asker_open(fd_ping_asker **asker, const char *const *addresses,
                   size_t count, uint16_t port,
                   const uint8_t token[FD_PING_TOKEN], fd_error *error)
{
    fd_ping_asker *a = fd_calloc(1, sizeof *a);
    *asker = NULL;
    if (a == NULL) {
        return FD_ENOMEM;
    }
    a->fd = a->worker.ends = -1;
    a->port = port;
    a->pause_ms = FIRST_PAUSE_MS;
    a->trouble = "";
    memcpy(a->token, token, FD_PING_TOKEN);
    for (size_t i = 0; i < count && a->address_count < FD_PING_ADDRESSES;
         i++) {
        size_t size = strlen(addresses[i]);
        if (size < ADDRESS_BYTES) {
            memcpy(a->addresses[a->address_count++], addresses[i], size + 1);
        }
    }
    if (start(&a->worker, ask, a) != FD_OK) {
        fd_status status = fd_fail(error, FD_EIO,
                                   "no clock can be asked: %s",
                                   strerror(errno));
        fd_ping_asker_close(a);
        return status;
    }
    *asker = a;
    return FD_OK;
}

const fd_ping *
fd_ping_asker_finish(fd_ping_asker *a, size_t *count, const char **trouble)
{
    end(&a->worker);
    *count = a->kept;
    *trouble = a->trouble;
    return a->pings;
}

void
fd_ping_asker_close(fd_ping_asker *a)
{
    if (a != NULL) {
        end(&a->worker);
        if (a->fd >= 0) {
            close(a->fd);
        }
        fd_free(a);
    }
}
