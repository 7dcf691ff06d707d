#include "columns/arrow_stream.h"

#include "base/alloc.h"
#include "columns/arrow_array.h"
#include "columns/arrow_schema.h"
#include "columns/path_ids.h"

#include <errno.h>

typedef struct batch_stream {
    const fd_trace *trace;
    const fd_arrow_table *table;
    uint64_t *paths; /* owned */
    uint32_t next;   /* index of the next batch */
    fd_arrow_drop *drop;
    void *owner;
} batch_stream;

static int
get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
    const batch_stream *own = stream->private_data;
    return fd_arrow_schema(schema, own->table->table, own->table->per_rank)
                == FD_OK
             ? 0
             : ENOMEM;
}

static fd_status
make_batch(const batch_stream *own, struct ArrowArray *array)
{
    fd_table_rows batch = {.list = NULL};
    uint32_t rank =
        own->table->per_rank ? own->trace->ranks.list[own->next].rank : 0;
    fd_status status = fd_table_rows_fill(&batch, own->table, own->trace,
                                          own->paths, own->next);
    fd_arrow_rows rows = {batch.list, batch.count, &own->trace->texts,
                          own->table->per_rank ? &rank : NULL};
    fd_then(status, fd_arrow_array(array, own->table->table, &rows));
    fd_table_rows_clear(&batch);
    return status;
}

static int
get_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
    batch_stream *own = stream->private_data;
    uint32_t batches = own->table->per_rank ? own->trace->ranks.count : 1;
    *array = (struct ArrowArray){.release = NULL};
    if (own->next >= batches) {
        return 0;
    }
    if (make_batch(own, array) != FD_OK) {
        return ENOMEM;
    }
    own->next++;
    return 0;
}

static const char *
get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory"; /* the only failure */
}

static void
release_stream(struct ArrowArrayStream *stream)
{
    batch_stream *own = stream->private_data;
    if (own->drop != NULL) {
        own->drop(own->owner);
    }
    fd_free(own->paths);
    fd_free(own);
    stream->release = NULL;
}

fd_status
fd_arrow_stream(struct ArrowArrayStream *stream, const fd_trace *trace,
                const fd_arrow_table *table, fd_arrow_drop *drop, void *owner)
{
    batch_stream *own = fd_calloc(1, sizeof *own);
    uint64_t *paths = fd_path_ids(trace);
    if (own == NULL || paths == NULL) {
        fd_free(own);
        fd_free(paths);
        return FD_ENOMEM;
    }
    *own = (batch_stream){trace, table, paths, 0, drop, owner};
    *stream = (struct ArrowArrayStream){get_schema, get_next, get_last_error,
                                        release_stream, own};
    return FD_OK;
}
