#include "check.h"

#include "io/ping.h"

#include <time.h>

static const uint8_t TOKEN[FD_PING_TOKEN] = "0123456789abcde";

static void
wait_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void
close_answerer(fd_ping_answerer **answerer)
{
    fd_ping_answerer_close(*answerer);
}

static void
close_asker(fd_ping_asker **asker)
{
    fd_ping_asker_close(*asker);
}

static void
one_clock(void)
{
    CLEAN(close_answerer) fd_ping_answerer *answerer = NULL;
    CLEAN(close_asker) fd_ping_asker *asker = NULL;
    const char *const addresses[] = {"no address", "127.0.0.1"};
    const char *trouble;
    size_t count;
    uint16_t port;
    OK(fd_ping_answerer_open(&answerer, TOKEN, &port, NULL));
    OK(fd_ping_asker_open(&asker, addresses, 2, port, TOKEN, NULL));
    wait_ms(200);
    const fd_ping *pings = fd_ping_asker_finish(asker, &count, &trouble);
    SAME(trouble, "");
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(pings[i].sent <= pings[i].answered);
        CHECK(pings[i].answered <= pings[i].received);
    }
}

static void
nobody_there(void)
{
    CLEAN(close_answerer) fd_ping_answerer *answerer = NULL;
    CLEAN(close_asker) fd_ping_asker *wrong = NULL;
    CLEAN(close_asker) fd_ping_asker *late = NULL;
    static const uint8_t other[FD_PING_TOKEN] = "something else";
    const char *const addresses[] = {"127.0.0.1", "::1"};
    const char *trouble;
    size_t count;
    uint16_t port;
    OK(fd_ping_answerer_open(&answerer, TOKEN, &port, NULL));
    OK(fd_ping_asker_open(&wrong, addresses, 2, port, other, NULL));
    wait_ms(100);
    fd_ping_asker_finish(wrong, &count, &trouble);
    EQUAL(count, 0);
    SAME(trouble, "no answer from the clock");
    fd_ping_answerer_close(answerer);
    answerer = NULL;
    OK(fd_ping_asker_open(&late, addresses, 2, port, TOKEN, NULL));
    fd_ping_asker_finish(late, &count, &trouble);
    EQUAL(count, 0);
}

RUN(ONCE(one_clock), ONCE(nobody_there))
