#include "check.h"

#include "clocks/ping_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

TEST(of_one_address)
{
    CLEAN(check_close) int fd = -1;
    uint16_t port = 0;
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    OK(fd_ping_socket_bind(&fd, "127.0.0.1", &port, NULL));
    CHECK(getsockname(fd, (struct sockaddr *)&own, &size) == 0);
    EQUAL(own.sin_family, AF_INET);
    EQUAL(own.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    EQUAL(ntohs(own.sin_port), port);
    CHECK(port != 0);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

/* An address of the range reserved for documentation. */
TEST(an_address_of_another_host)
{
    fd_error error = {""};
    int fd = 0;
    uint16_t port;
    STATUS(fd_ping_socket_bind(&fd, "192.0.2.1", &port, &error), FD_EIO);
    HAS(error.text, "cannot serve the clock at 192.0.2.1: ");
    EQUAL(fd, -1);
}

/* Datagrams from other ports are not received. */
ONCE(receives_from_its_peer_only)
{
    CLEAN(check_close) int one = -1;
    CLEAN(check_close) int other = -1;
    CLEAN(check_close) int requester = -1;
    uint16_t port = 0;
    uint16_t elsewhere = 0;
    char byte = 0;
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    OK(fd_ping_socket_bind(&one, "127.0.0.1", &port, NULL));
    OK(fd_ping_socket_bind(&other, "127.0.0.1", &elsewhere, NULL));
    OK(fd_ping_socket_connect(&requester, "127.0.0.1", port, NULL));
    CHECK(getsockname(requester, (struct sockaddr *)&own, &size) == 0);
    sendto(other, "x", 1, 0, (struct sockaddr *)&own, size);
    EQUAL(recv(requester, &byte, 1, MSG_DONTWAIT), -1);
    EQUAL(sendto(one, "y", 1, 0, (struct sockaddr *)&own, size), 1);
    EQUAL(recv(requester, &byte, 1, 0), 1);
    EQUAL(byte, 'y');
}
