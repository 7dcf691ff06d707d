/* Readers of execution traces in files, complete or truncated. */
#ifndef FD_ET_READERS_H
#define FD_ET_READERS_H

#include "et/et_graph.h"
#include "streams/input_stream.h"
#include "json/json_scan.h"

/* Return whether the first bytes of a file are those of a .et file of Chakra:
 * a length and that many bytes of a GlobalMetadata. */
bool fd_et_is_chakra(const char *head, size_t size);

/* Read a .et file of any program. The caller must call fd_et_finish
 * afterwards. */
void fd_et_read_chakra(fd_et *et, fd_bytes_in *in);

/* Read PyTorch's JSON of the schemas 1.0.1 to 1.1.1, linked or not, in any
 * order of nodes. Fields: docs/formats/execution-trace.md. After damage, reading continues at the next
 * object that begins with an "id"; the text between is lost and counted. Names
 * that PyTorch did not escape are read unchanged. A file without nodes ends the request with FD_EFORMAT. The
 * caller must call fd_et_finish afterwards. */
void fd_et_read_pytorch(fd_et *et, fd_bytes_in *in, const char *path);

/* Scan one object and add its node. FD_SCAN_BAD for a missing id or invalid
 * JSON: no node is added. Spans of `scan` are not used afterwards. */
fd_scan_result fd_et_scan_node(fd_scan *scan, fd_et *et);

/* Read a number; count a fault for any other value. Also used for the header
 * of a trace. */
bool fd_et_take_number(fd_et *et, fd_span value, int64_t *number);
/* Count the repairs of a value: NaN and Infinity, which other readers accept,
 * apart from the others. */
void fd_et_count_repairs(fd_et *et, const fd_scan *scan);
/* Add a JSON string, repaired if necessary; return 0 for null. */
uint32_t fd_et_take_text(fd_et *et, const fd_scan *scan, fd_span value);

/* Note damage at a place of the input; the first one gets a message. */
void fd_et_note_damage(fd_et *et, const fd_bytes_in *in, const char *at,
                       const char *what);

#endif
