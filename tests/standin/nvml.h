/* Functions of the stand-in NVML (nvml.c) for tests. Python calls them through
 * ctypes. */
#ifndef STANDIN_NVML_H
#define STANDIN_NVML_H

/* What the GPU reports: MHz, mW, and bits of the reasons for its clock. */
void standin_nvml_set(unsigned int clock, unsigned int power,
                      unsigned long long reasons);

/* Report an Xid error, and further corrected errors of memory. */
void standin_nvml_error(unsigned long long xid, unsigned long long corrected);

/* How often the clock was read. */
int standin_nvml_looks(void);

/* The number of users that initialised it. */
int standin_nvml_initialised(void);

#endif
