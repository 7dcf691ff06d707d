/* Which process group an operator of c10d is given. Its argument is a box of
 * TorchScript's around the C++ object, a new one each time:
 *
 *     operand ──► box [ ... | slots ──┐ ... ]
 *                     ┌───────────────┘
 *                     └► slot ──► c10d::ProcessGroup [ its virtual table | ...
 *
 * The offset in the box is unknown: each word of it is tried. A word that may
 * not be a pointer is read through the kernel, which returns an error for an
 * invalid address. */
#ifndef FD_PROCESS_GROUPS_H
#define FD_PROCESS_GROUPS_H

#include "recording/operator_log.h"

/* The words of `log` are what an operator of c10d takes: boxes of process
 * groups become their addresses. */
void fd_process_groups_tell(fd_op_log *log);

/* The address of the process group behind a Python object; 0: no group. */
uint64_t fd_process_group_of(const void *object);

#endif
