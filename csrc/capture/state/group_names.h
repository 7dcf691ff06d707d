/* The names of process groups, by the address that operators of c10d receive.
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
        _Atomic uint32_t text; /* string "NAME:SIZE" */
    } list[FD_GROUP_NAMES];
    struct {
        _Atomic uint32_t text;  /* 0: free */
        _Atomic uint64_t calls; /* collectives so far */
    } calls[FD_GROUP_NAMES];
} fd_group_names;

/* The text of the group at an address; 0: unknown. */
uint32_t fd_group_names_find(const fd_group_names *names, uint64_t address);

/* A new group at the address of a destroyed one replaces it. Without room the
 * group stays unknown. */
void fd_group_names_put(fd_group_names *names, uint64_t address,
                        uint32_t text);

/* Count a collective of the group with this text, on any thread; returns its
 * number, from 1. A group that is created again continues. 0: no room. */
uint64_t fd_group_names_call(fd_group_names *names, uint32_t text);

#endif
