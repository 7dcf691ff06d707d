/* The Arrow types of columns. Texts and names of enumerations are dictionaries
 * with 32-bit indexes; an index of a row is uint32, null for "none". A unit is
 * the metadata "unit" of its field. */
#ifndef FD_ARROW_SCHEMA_H
#define FD_ARROW_SCHEMA_H

#include "columns/arrow_abi.h"
#include "trace/trace_columns.h"

/* Whether a column is a dictionary of texts, and whether it has nulls. */
bool fd_arrow_is_dictionary(const fd_column *column);
bool fd_arrow_is_nullable(const fd_column *column);

/* The column "rank", which comes first in tables with rows of several ranks. */
extern const fd_column fd_arrow_rank;

/* The schema of a table: a struct with a child per column. FD_ENOMEM is the
 * only failure; the caller releases it. */
fd_status fd_arrow_schema(struct ArrowSchema *schema, const fd_table *table,
                          bool with_rank);

#endif
