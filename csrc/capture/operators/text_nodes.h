/* Nodes known by their text alone: ranges and autograd nodes, whose records
 * have no lasting address. */
#ifndef FD_TEXT_NODES_H
#define FD_TEXT_NODES_H

#include "capture/state/session_state.h"

/* The node of this text, from the thread's own index or, at first sight, from
 * the recording under its lock. 0 when there is no room. */
uint32_t fd_texts_node(fd_thread *thread, uint8_t kind, const char *text);

#endif
