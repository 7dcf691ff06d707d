/* Datagram sockets of numeric addresses; closed on exec, never waiting. */
#ifndef FD_PING_SOCKET_H
#define FD_PING_SOCKET_H

#include "base/status.h"

#include <stdint.h>

/* On any free port of the address, which must be one address and not all. */
fd_status fd_ping_socket_bind(int *made, const char *address, uint16_t *port,
                              fd_error *error);

/* That hears this one address and port only. */
fd_status fd_ping_socket_connect(int *made, const char *address,
                                 uint16_t port, fd_error *error);

#endif
