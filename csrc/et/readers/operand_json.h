/* Operands of recorded calls as JSON that says all of them, for what makes a
 * graph of layers from calls. */
#ifndef FD_OPERAND_JSON_H
#define FD_OPERAND_JSON_H

#include "et/readers/et_operands.h"

/* Words of a side as a text of `et`: a list.
 *
 *   tensor  {"id", "storage", "at": address, "dtype", "shape", "bytes",
 *            "extent": bytes of the storage that it needs, "value": of a number}
 *   list    [...], of a tuple {"tuple": [...]}
 *   dict    {"dict": [[key, value], ...]}
 *   device  {"device": "cpu"}, what is no data {"other": kind}
 *   None, numbers, texts: as in JSON; no number of it {"other": 5} */
fd_status fd_et_put_facts(fd_et *et, fd_words words, fd_operand_ids ids,
                          uint32_t *text);

#endif
