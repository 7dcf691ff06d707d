/* Copies of memory of this process that another thread may change or free
 * meanwhile: never a fault. */
#ifndef FD_MEMORY_COPIES_H
#define FD_MEMORY_COPIES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

/* Return false if the memory does not exist, or the kernel refuses. Keeps
 * errno. */
static inline bool
fd_copy_memory(uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *)(uintptr_t)address, size};
    int error = errno;
    bool copied =
        process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
    errno = error;
    return copied;
}

/* Return the pointer at `address`, or 0. */
static inline uint64_t
fd_copy_pointer(uint64_t address)
{
    uintptr_t value = 0;
    return fd_copy_memory(address, &value, sizeof value) ? value : 0;
}

#endif
