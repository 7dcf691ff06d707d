/* Nodes identified by their text: ranges and autograd nodes, whose records
 * have no permanent address. */
#ifndef FD_TEXT_NODES_H
#define FD_TEXT_NODES_H

#include "capture/state/session_state.h"

/* Return the node of this text, from the index of the thread or, for a new
 * text, from the recording under its lock. Return 0 if there is no space. */
uint32_t fd_texts_node(fd_thread *thread, uint8_t kind, const char *text);

#endif
