/* Resident memory of the process. */
#ifndef FD_RESIDENT_H
#define FD_RESIDENT_H

#include <stdint.h>

/* Bytes in RAM without mapped files and shared memory, 0 if unknown. Costs
 * three system calls; errno stays, and no thread is cancelled inside. */
uint64_t fd_resident_bytes(void);

#endif
