/* Resident memory of the process. */
#ifndef FD_RESIDENT_H
#define FD_RESIDENT_H

#include <stdint.h>

/* Return the bytes in RAM without mapped files and shared memory, or 0 if
 * unknown. Costs three system calls. errno is unchanged, and there is no
 * cancellation point. */
uint64_t fd_resident_bytes(void);

#endif
