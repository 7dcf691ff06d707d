/* Non-blocking, close-on-exec datagram sockets of numeric addresses. */
#ifndef FD_PING_SOCKET_H
#define FD_PING_SOCKET_H

#include "base/status.h"

#include <stdint.h>

/* Bind to a free port of an address. FD_EINVAL for a wildcard address. */
fd_status fd_ping_socket_bind(int *made, const char *address, uint16_t *port,
                              fd_error *error);

/* Connect: the socket then receives from this address and port only. */
fd_status fd_ping_socket_connect(int *made, const char *address, uint16_t port,
                                 fd_error *error);

#endif
