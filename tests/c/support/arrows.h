/* Arrow structs in tests. */
#ifndef ARROWS_H
#define ARROWS_H

#include "check.h"

#include "columns/arrow_abi.h"

#include <stdint.h>

/* Release what is not released yet; for CLEAN. */
void arrows_drop_schema(struct ArrowSchema *schema);
void arrows_drop_array(struct ArrowArray *array);
void arrows_drop_stream(struct ArrowArrayStream *stream);

/* A text of an array of texts, by row, compared with `expected`. */
bool arrows_text_is(const struct ArrowArray *texts, int64_t row,
                    const char *expected);

/* The text behind the index of a row of a dictionary column. */
bool arrows_word_is(const struct ArrowArray *column, int64_t row,
                    const char *expected);

bool arrows_is_null(const struct ArrowArray *column, int64_t row);
uint32_t arrows_u32(const struct ArrowArray *column, int64_t row);
uint64_t arrows_u64(const struct ArrowArray *column, int64_t row);

#endif
