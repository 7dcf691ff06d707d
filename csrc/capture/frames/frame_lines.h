/* The line that a frame of another thread executes, read without the GIL, by
 * copies of memory that may be freed meanwhile: never a fault, and a wrong
 * line at most for a thread that began to run. */
#ifndef FD_FRAME_LINES_H
#define FD_FRAME_LINES_H

#include "capture/python/pyframe.h"

#include <stdint.h>

/* Return the line of the frame at this address, or 0. */
uint32_t fd_frame_line_at(uint64_t address);

/* Return the line of an instruction, given by its offset in bytes, in a table
 * of locations (co_linetable), or 0. */
uint32_t fd_frame_line_in(const uint8_t *table, size_t size, int first_line,
                          int instruction);

#endif
