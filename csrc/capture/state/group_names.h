/* Names of process groups, by the address that operators of c10d receive.
 * Python code adds them with the GIL; any thread reads them without a lock. */
#ifndef FD_GROUP_NAMES_H
#define FD_GROUP_NAMES_H

#include <stdatomic.h>
#include <stdint.h>

enum { FD_GROUP_NAMES = 256 };

typedef struct fd_group_names {
    _Atomic uint32_t count;
    struct {
        _Atomic uint64_t address;
        _Atomic uint32_t text; /* id of the string "NAME:SIZE" */
    } list[FD_GROUP_NAMES];
    struct {
        _Atomic uint32_t text;  /* id of the string; 0: free entry */
        _Atomic uint64_t calls; /* number of collectives so far */
    } calls[FD_GROUP_NAMES];
} fd_group_names;

/* Return the text of the group at an address, or 0 if unknown. */
uint32_t fd_group_names_find(const fd_group_names *names, uint64_t address);

/* Add a group. It replaces a destroyed group at the same address. If there is
 * no space, the group stays unknown. */
void fd_group_names_put(fd_group_names *names, uint64_t address,
                        uint32_t text);

/* Count a collective of the group with this text and return its number, from
 * 1, or 0 if there is no space. A group that is created again continues the
 * count. Any thread may call it. */
uint64_t fd_group_names_call(fd_group_names *names, uint32_t text);

#endif
