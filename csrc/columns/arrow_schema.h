/* The Arrow types of columns. Texts and names of enumerations are dictionaries
 * with 32-bit indexes; an index of a row is a uint32, null for "none". The
 * unit of a column is the metadata "unit" of its field. */
#ifndef FD_ARROW_SCHEMA_H
#define FD_ARROW_SCHEMA_H

#include "columns/arrow_abi.h"
#include "trace/trace_columns.h"

/* Return whether a column is a dictionary of texts, or whether it has
 * nulls. */
bool fd_arrow_is_dictionary(const fd_column *column);
bool fd_arrow_is_nullable(const fd_column *column);

/* The column "rank", which comes first in tables with rows of several ranks. */
extern const fd_column fd_arrow_rank;

/* Make the schema of a table: a struct with a child per column. FD_ENOMEM is
 * the only failure. The caller releases the schema. */
fd_status fd_arrow_schema(struct ArrowSchema *schema, const fd_table *table,
                          bool with_rank);

#endif
