/* The process group among the arguments of an operator of c10d. The argument
 * is a TorchScript box around the C++ object, a new one per call:
 *
 *     operand ──► box [ ... | slots ──┐ ... ]
 *                     ┌───────────────┘
 *                     └► slot ──► c10d::ProcessGroup [ its virtual table | ...
 *
 * The offset in the box is unknown, so each of its words is tried. A word that
 * may not be a pointer is dereferenced by a system call, which returns an
 * error for an invalid address. */
#ifndef FD_PROCESS_GROUPS_H
#define FD_PROCESS_GROUPS_H

#include "recording/operator_log.h"

/* Replace boxes of process groups among the operands in `log`, of an operator
 * of c10d, by the addresses of the groups. */
void fd_process_groups_resolve(fd_op_log *log);

/* Return the address of the process group in a box, or 0 if it has no
 * group. */
uint64_t fd_process_group_in(uint64_t box);

/* Return the address of the process group of a Python object, or 0 if it is
 * not a group. */
uint64_t fd_process_group_of(const void *object);

#endif
