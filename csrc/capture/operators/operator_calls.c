#include "capture/operators/operator_calls.h"

#include "base/hidden_result.h"
#include "capture/operands/operands.h"
#include "capture/operands/process_groups.h"
#include "capture/torch/record_layout.h"
#include "recording/operator_log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAME = 256 };

/* Store the schema of an operator as text, from PyTorch, immediately, so that
 * the recording of a killed process contains it. */
static void
keep_schema(fd_recording *recording, const void *schema, const char *name)
{
    union {
        max_align_t aligned;
        char capacity[512]; /* a std::ostringstream has 376 bytes */
    } stream;
    fd_cpp_text text;
    fd_torch.begin_stream(&stream);
    fd_torch.print_schema(&stream, schema);
    fd_hidden_result_call(&text, &stream, fd_torch.stream_text);
    fd_recording_schema(recording, name, text.text);
    fd_torch.end_text(&text);
    fd_torch.end_stream(&stream);
}

/* Return the string of name and overload, with which a schema begins:
 * "aten::add.Tensor"; "aten::relu" has no overload. */
static uint32_t
schema_of(fd_session *session, const void *record)
{
    uint64_t address = fd_record_word(record, FD_RECORD_FUNCTION);
    uint32_t text = fd_operators_find(&session->schemas, address);
    if (text != 0) {
        return text;
    }
    const fd_cpp_text *names = (const fd_cpp_text *)(uintptr_t)address;
    char name[MOST_NAME];
    int size = snprintf(name, sizeof name, "%s%s%s", names[0].text,
                        names[1].size > 0 ? "." : "", names[1].text);
    if (size < 0) {
        return 0;
    }
    keep_schema(session->recording, names, name);
    return fd_operators_add_text(&session->schemas, session->recording,
                                 address, name);
}

static bool
is_of_groups(const fd_session *session, uint32_t schema)
{
    static const char head[] = "c10d::";
    return schema != 0
        && strncmp(fd_strings_text(&session->recording->file, schema), head,
                   sizeof head - 1)
               == 0;
}

static uint32_t
flags_of(const void *record)
{
    uint32_t scope = fd_record_byte(record, FD_RECORD_SCOPE);
    uint32_t flags = scope << FD_OP_CALL_SCOPE_SHIFT;
    return fd_torch.record_is_async(record) ? flags | FD_OP_CALL_ASYNC : flags;
}

void
fd_op_call_start(fd_thread *thread, const void *record)
{
    fd_session *session = thread->session;
    fd_tree *tree = thread->tree;
    fd_op_call call = {
        .start = fd_clock_ticks(),
        .id = fd_record_id(record),
        .sequence =
            (int64_t)fd_record_word(record, fd_record_layout->sequence),
        .forward_thread =
            fd_record_word(record, fd_record_layout->forward_thread),
        .torch_thread = (uint32_t)fd_record_word(record, FD_RECORD_THREAD),
        .step = (uint32_t)session->step,
        .flags = flags_of(record),
    };
    bool whole = true;
    tree->ops.words.count = 0;
    if (fd_record_has_schema(record)) {
        call.schema = schema_of(session, record);
    }
    if (call.schema == 0) {
        const char *name = fd_torch.record_name(record);
        whole = fd_operands_text(&tree->ops, name, strlen(name));
    }
    whole = fd_operands_inputs(&tree->ops, record) && whole;
    if (is_of_groups(session, call.schema)) {
        fd_process_groups_resolve(&tree->ops);
    }
    if (!whole) {
        fd_file_count(&tree->recording->file, FD_COUNT_OPERANDS_CUT);
    }
    fd_op_call *made = fd_op_calls_begin(tree, &call, record, thread->synced);
    if (made != NULL && (made->flags & FD_OP_CALL_ASYNC) != 0) {
        fd_asyncs_note(&session->asyncs, record, made);
    }
}

void
fd_op_call_end(fd_thread *thread, const void *record)
{
    fd_tree *tree = thread->tree;
    tree->ops.words.count = 0;
    if (tree->ops.window == thread->synced) {
        if (!fd_operands_outputs(&tree->ops, record)) {
            fd_file_count(&tree->recording->file, FD_COUNT_OPERANDS_CUT);
        }
        fd_op_calls_end(tree, record, fd_clock_ticks());
    }
}
