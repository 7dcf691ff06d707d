#include "clocks/ping_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static fd_status
look_up(struct addrinfo **found, const char *address, uint16_t port,
        fd_error *error)
{
    char text[8];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_DGRAM,
                                   .ai_flags =
                                       AI_NUMERICHOST | AI_NUMERICSERV};
    snprintf(text, sizeof text, "%u", port);
    int result = getaddrinfo(address, text, &hints, found);
    if (result == EAI_MEMORY) {
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    return result == 0
             ? FD_OK
             : fd_fail(error, FD_EINVAL,
                       "clock: %.64s: a numeric address is needed", address);
}

static bool
is_wildcard(const struct addrinfo *found)
{
    if (found->ai_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)found->ai_addr;
        return four->sin_addr.s_addr == htonl(INADDR_ANY);
    }
    const struct sockaddr_in6 *six = (const void *)found->ai_addr;
    return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)
        || (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)
            && six->sin6_addr.s6_addr32[3] == htonl(INADDR_ANY));
}

static uint16_t
port_of(int fd)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof own;
    getsockname(fd, (struct sockaddr *)&own, &size);
    return ntohs(own.ss_family == AF_INET
                     ? ((struct sockaddr_in *)&own)->sin_port
                     : ((struct sockaddr_in6 *)&own)->sin6_port);
}

/* Open a socket; set errno on failure. */
static int
open_socket(const struct addrinfo *found, bool listens)
{
    int fd =
        socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int result = fd < 0  ? -1
               : listens ? bind(fd, found->ai_addr, found->ai_addrlen)
                         : connect(fd, found->ai_addr, found->ai_addrlen);
    if (result < 0 && fd >= 0) {
        int why = errno;
        close(fd);
        errno = why;
        fd = -1;
    }
    return fd;
}

fd_status
fd_ping_socket_bind(int *made, const char *address, uint16_t *port,
                    fd_error *error)
{
    struct addrinfo *found = NULL;
    fd_status status = look_up(&found, address, 0, error);
    *made = -1;
    if (status != FD_OK) {
        return status;
    }
    if (is_wildcard(found)) {
        freeaddrinfo(found);
        return fd_fail(error, FD_EINVAL,
                       "clock: %.64s is every address of this host: give one",
                       address);
    }
    *made = open_socket(found, true);
    freeaddrinfo(found);
    if (*made < 0) {
        return fd_fail(error, FD_EIO, "cannot serve the clock at %.64s: %s",
                       address, strerror(errno));
    }
    *port = port_of(*made);
    return FD_OK;
}

fd_status
fd_ping_socket_connect(int *made, const char *address, uint16_t port,
                       fd_error *error)
{
    struct addrinfo *found = NULL;
    fd_status status = look_up(&found, address, port, error);
    *made = -1;
    if (status != FD_OK) {
        return status;
    }
    *made = open_socket(found, false);
    freeaddrinfo(found);
    return *made >= 0
             ? FD_OK
             : fd_fail(error, FD_EIO, "cannot ping the clock at %.64s: %s",
                       address, strerror(errno));
}
