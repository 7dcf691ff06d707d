#include "capture/operators/node_calls.h"

#include <string.h>

fd_context *
fd_node_context(fd_tree *tree, uint32_t node, uint32_t origin)
{
    fd_callee callee = {node, 0, origin};
    fd_context *context = fd_tree_child(tree, tree->current, &callee);
    context->callee = node | FD_CALLEE_NODE;
    context->receiver = 0;
    fd_tree_note(tree, fd_tree_id(tree, context));
    return context;
}

void
fd_node_first_number(fd_thread *thread, uint64_t number, uint64_t torch_thread)
{
    if (thread->ring_refused) {
        return;
    }
    fd_session *session = thread->session;
    thread->ring = fd_origins_ring(&session->origins,
                                   &session->recording->lock, torch_thread);
    thread->ring_refused = thread->ring == NULL;
    if (thread->ring != NULL) {
        fd_node_number(thread, number, torch_thread);
    }
}

static uint32_t
find_node(const fd_thread *thread, uint8_t kind, const char *text, size_t size,
          uint64_t hash)
{
    const fd_file *file = &thread->session->recording->file;
    fd_probe probe = fd_index_probe(&thread->names, hash);
    uint32_t id;
    while ((id = fd_index_next(&thread->names, &probe)) != 0) {
        const fd_node *node = fd_file_record(file, id);
        const fd_string *name = fd_strings_get(file, node->name);
        if (node->kind == kind && name->size == size
            && memcmp(name->bytes, text, size) == 0) {
            return id;
        }
    }
    return 0;
}

static uint32_t
add_node(fd_session *session, uint8_t kind, const char *text)
{
    if (kind == FD_NODE_RANGE || kind == FD_NODE_JOB) {
        return fd_operators_range(&session->operators, session->recording,
                                  kind, text);
    }
    fd_node_spec spec = {.kind = kind, .name = text};
    return fd_recording_node(session->recording, &spec, NULL);
}

uint32_t
fd_texts_node(fd_thread *thread, uint8_t kind, const char *text)
{
    size_t size = strlen(text);
    uint64_t hash = fd_hash_bytes(text, size) ^ kind;
    uint32_t node = find_node(thread, kind, text, size, hash);
    if (node != 0) {
        return node;
    }
    node = add_node(thread->session, kind, text);
    const fd_file *file = &thread->session->recording->file;
    const fd_node *record = fd_file_record(file, node);
    /* Do not index folded names, because each of their texts is different. */
    if (node != 0 && strcmp(fd_strings_text(file, record->name), text) == 0) {
        fd_index_add(&thread->names, hash, node);
    }
    return node;
}
