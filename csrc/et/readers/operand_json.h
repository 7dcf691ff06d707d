/* Conversion of all facts about the operands of recorded calls to JSON, for
 * graphs of layers. */
#ifndef FD_OPERAND_JSON_H
#define FD_OPERAND_JSON_H

#include "et/readers/et_operands.h"

/* Add the inputs or outputs of a call as a text of `et`, a list, and return its
 * id.
 *
 *   tensor  {"id", "storage", "at": address, "dtype", "shape", "bytes",
 *            "extent": bytes of the storage up to its last element, "value": number}
 *   list    [...], of a tuple {"tuple": [...]}
 *   dict    {"dict": [[key, value], ...]}
 *   device  {"device": "cpu"}; objects without data {"other": kind}
 *   None, numbers, texts: as in JSON; infinities and NaN {"other": 5} */
uint32_t fd_et_put_facts(fd_et *et, fd_words words, fd_operand_ids ids);

#endif
