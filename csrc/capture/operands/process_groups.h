/* The process group in the arguments of an operator of c10d: a TorchScript box
 * around the C++ object, a new one per call:
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

/* In the operands of an operator of c10d in `log`, replace boxes of process
 * groups by the addresses of the groups. */
void fd_process_groups_resolve(fd_op_log *log);

/* The address of the process group in a box; 0: not a group. */
uint64_t fd_process_group_in(uint64_t box);

/* The address of the process group of a Python object; 0: not a group. */
uint64_t fd_process_group_of(const void *object);

#endif
