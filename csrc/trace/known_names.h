/* The names that PyTorch defines, and the hash that replaces other names in
 * anonymous outputs. Equal names with equal salts have equal hashes. */
#ifndef FD_KNOWN_NAMES_H
#define FD_KNOWN_NAMES_H

#include "base/buffer.h"
#include "base/hash.h"

#include <stdbool.h>

fd_sip_key fd_names_key(const char *salt, size_t size);

/* Append "f_" and twelve digits. */
void fd_names_hide(fd_sip_key key, fd_buffer *to, const char *name,
                   size_t size);

/* a class of PyTorch or Python of which traces rarely have own methods */
bool fd_names_class(const char *name);
bool fd_names_operator(const char *name); /* an operator, by its namespace */
bool fd_names_autograd(const char *name);
bool fd_names_job(const char *name);
bool fd_names_role(const char *name); /* the role of a thread */
bool fd_names_fact(const char *key);  /* a fact that contains no name */

/* The parts of "Optimizer.step#AdamW.step": bytes of PyTorch's prefix, and of
 * the class after it; 0 and 0 for a name of the user. */
typedef struct fd_range_name {
    size_t known;
    size_t owner;
} fd_range_name;

fd_range_name fd_names_range(const char *name);

#endif
