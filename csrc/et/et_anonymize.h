/* Hashes instead of the user's names in an execution trace from a recording:
 * operators other than PyTorch's, ranges, process groups and the host, as in
 * trace/anonymize.h. */
#ifndef FD_ET_ANONYMIZE_H
#define FD_ET_ANONYMIZE_H

#include "et/et_graph.h"
#include "trace/known_names.h"

typedef struct fd_et_anonymizer {
    fd_sip_key key;
    const fd_et *et; /* borrowed: its process groups have their original
                        names */
    bool all;        /* anonymize all texts of the current node, not only
                        groups */
} fd_et_anonymizer;

/* Anonymize the name and schema of a node with a known scope; sets `all`. */
fd_status fd_et_hide_node(fd_et_anonymizer *anonymizer, fd_et *et,
                          fd_et_node *node);

/* Write a text among its operands as a JSON string; `anonymizer` may be
 * NULL. */
void fd_et_put_private(const fd_et_anonymizer *anonymizer, fd_buffer *to,
                       const char *text, size_t size);

/* Anonymize the host and the process groups, after the last operand. */
fd_status fd_et_hide_head(const fd_et_anonymizer *anonymizer, fd_et *et);

#endif
