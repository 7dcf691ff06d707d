#include "capture/frames/frame_walk.h"

#include "capture/frames/code_nodes.h"
#include "capture/frames/memory_copies.h"

enum {
    MOST_FRAMES = 512,
    MOST_THREADS = 4096,
    MOST_PROBES = 64,
    MOST_TABLE = 16 * 1024
};

/* A frame of a walk. */
typedef struct seen_frame {
    uint64_t at;
    uint64_t code;
} seen_frame;

typedef struct frame_list {
    seen_frame frames[MOST_FRAMES]; /* the innermost first */
    uint32_t count;
} frame_list;

bool
fd_frame_walk_is_possible(void)
{
    uint64_t value = 1;
    return fd_copy_pointer((uintptr_t)&value) == value;
}

/* Return the address at which a thread keeps that of its current frame, or
 * 0. */
static uint64_t
place_of_current(uint32_t system_id)
{
    PyThreadState state;
    uint64_t at = fd_frame_first_thread();
    for (int i = 0; i < MOST_THREADS && at != 0
                    && fd_copy_memory(at, &state, sizeof state);
         i++) {
        if (state.native_thread_id == system_id) {
            return fd_frame_place_of_current(at, &state);
        }
        at = (uintptr_t)state.next;
    }
    return 0;
}

/* List the frames of a thread. Return false if they cannot be read, or are too
 * many. */
static bool
list_frames(uint64_t place, frame_list *list)
{
    enum { HEAD = offsetof(fd_frame, localsplus) };
    fd_frame copy;
    uint64_t at = fd_copy_pointer(place);
    list->count = 0;
    for (int i = 0; i < 2 * MOST_FRAMES && at != 0; i++) {
        if (!fd_copy_memory(at, &copy, HEAD) || list->count == MOST_FRAMES) {
            return false;
        }
        if (fd_frame_may_be_python(&copy)) {
            list->frames[list->count++] =
                (seen_frame){at, (uintptr_t)fd_frame_code(&copy)};
        }
        at = (uintptr_t)copy.previous;
    }
    return at == 0;
}

/* Copy the facts of a code object. Return false if it is unknown: they have
 * its address. */
static bool
copy_facts(const PyCodeObject *code, uint64_t at, fd_code *known)
{
    Py_ssize_t index = fd_process.code_index;
    uint64_t extras = (uintptr_t)code->co_extra;
    Py_ssize_t size = 0;
    return extras != 0 && fd_copy_memory(extras, &size, sizeof size)
        && size > index
        && fd_copy_memory(fd_copy_pointer(extras
                                          + offsetof(fd_code_extras, words)
                                          + (uint64_t)index * sizeof(void *)),
                          known, sizeof *known)
        && (uintptr_t)known->code == at;
}

/* Return the address of the object that determines the class of a call. */
static uint64_t
receiver_of(const fd_code *known, uint64_t frame, const fd_frame *copy)
{
    uint64_t place = fd_frame_place_of_local(frame, known->slot);
    if (known->receiver == FD_RECEIVER_FREE
        || known->receiver == FD_RECEIVER_FREE_CLASS) {
        uint64_t function = (uintptr_t)fd_frame_function(copy);
        place = fd_copy_pointer(function
                                + offsetof(PyFunctionObject, func_closure))
              + offsetof(PyTupleObject, ob_item)
              + (uint64_t)known->slot * sizeof(PyObject *);
    }
    uint64_t value = fd_frame_untagged(fd_copy_pointer(place));
    return value != 0
                && fd_copy_pointer(value + offsetof(PyObject, ob_type))
                       == (uintptr_t)&PyCell_Type
             ? fd_copy_pointer(value + offsetof(PyCellObject, ob_ref))
             : value;
}

/* Return the id of a class, or 0 if it is not known. The table is read while
 * it may grow; the class has a weak reference in the slot of its id. */
static uint32_t
class_at(uint64_t type)
{
    fd_map map = {.entries = NULL};
    fd_map_entry entry = {.key = 1};
    fd_copy_memory((uintptr_t)&fd_process.classes.by_address, &map,
                   sizeof map);
    uint32_t at = (uint32_t)fd_hash_word(type) & map.mask;
    for (int i = 0; i < MOST_PROBES && entry.key != 0 && entry.key != type;
         i++) {
        if (map.entries == NULL
            || !fd_copy_memory((uintptr_t)&map.entries[at], &entry,
                               sizeof entry)) {
            return 0;
        }
        at = (at + 1) & map.mask;
    }
    fd_object found = {.id = 0};
    uint64_t list = fd_copy_pointer((uintptr_t)&fd_process.classes.known.list);
    uint64_t slot = entry.value & (FD_OBJECT_SLOTS - 1);
    return entry.key == type
                && fd_copy_memory(list + slot * sizeof found, &found,
                                  sizeof found)
                && found.id == entry.value
                && fd_copy_pointer((uintptr_t)found.reference
                                   + offsetof(PyWeakReference, wr_object))
                       == type
             ? found.id
             : 0;
}

/* Return the id of the class of a call. The receiver may be deleted. */
static uint32_t
class_of(const fd_code *known, uint64_t frame, const fd_frame *copy)
{
    if (known->receiver == FD_RECEIVER_NONE) {
        return 0;
    }
    uint64_t value = receiver_of(known, frame, copy);
    return value == 0
             ? FD_ENTRY_ANY_CLASS
             : class_at(fd_receiver_is_instance(known) ? fd_copy_pointer(
                            value + offsetof(PyObject, ob_type))
                                                       : value);
}

/* Describe the call of a frame. Return false if it is not shown. */
static bool
describe_call(const seen_frame *seen, fd_entry *entry)
{
    fd_frame copy;
    PyCodeObject code;
    fd_code known;
    if (!fd_copy_memory(seen->at, &copy, offsetof(fd_frame, localsplus))
        || (uintptr_t)fd_frame_code(&copy) != seen->code
        || !fd_copy_memory(seen->code, &code, sizeof code)
        || !fd_frame_runs_code(&copy, &code)
        || !copy_facts(&code, seen->code, &known)
        || (known.special & (FD_CODE_PLUMBING | FD_CODE_MUTED)) != 0) {
        return false;
    }
    uint32_t flags =
        FD_ENTRY_FRAME | FD_ENTRY_CONTRACTED | FD_ENTRY_FOLLOWED
        | (known.returned == fd_process_serial() ? FD_ENTRY_UNHOOKED : 0);
    *entry = (fd_entry){.start = FD_FOLLOWED(known.id, 0),
                        .owner = seen->at,
                        .flags = flags
                               | class_of(&known, seen->at, &copy)
                                     << FD_ENTRY_CLASS_SHIFT};
    return true;
}

/* Return the number of outer frames that two walks have in common. */
static uint32_t
count_common(const frame_list *before, const frame_list *after)
{
    uint32_t count = 0;
    while (count < before->count && count < after->count) {
        const seen_frame *one = &before->frames[before->count - 1 - count];
        const seen_frame *other = &after->frames[after->count - 1 - count];
        if (one->at != other->at || one->code != other->code) {
            break;
        }
        count++;
    }
    return count;
}

uint32_t
fd_frame_walk(uint32_t system_id, fd_entry *entries, uint32_t capacity)
{
    frame_list before;
    frame_list after;
    uint32_t depths[MOST_FRAMES + 1]; /* entries of the outer frames */
    uint32_t depth = 0;
    uint64_t place = place_of_current(system_id);
    if (place == 0 || !list_frames(place, &before)) {
        return 0;
    }
    for (uint32_t i = 0; i < before.count; i++) {
        depths[i] = depth;
        depth += depth < capacity
              && describe_call(&before.frames[before.count - 1 - i],
                               &entries[depth]);
    }
    depths[before.count] = depth;
    return list_frames(place, &after) ? depths[count_common(&before, &after)]
                                      : 0;
}

/* A table of locations that is being read; beyond its end all bytes are 0. */
typedef struct location_table {
    const uint8_t *at;
    const uint8_t *end;
} location_table;

static uint32_t
location_byte(location_table *table)
{
    return table->at < table->end ? *table->at++ : 0;
}

static uint32_t
location_number(location_table *table)
{
    uint32_t value = 0;
    for (uint32_t shift = 0; shift < 32; shift += 6) {
        uint32_t byte = location_byte(table);
        value |= (byte & 63) << shift;
        if ((byte & 64) == 0) {
            break;
        }
    }
    return value;
}

static int
location_signed(location_table *table)
{
    uint32_t value = location_number(table);
    return (value & 1) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Read what follows the first byte of an entry of this kind, and return by how
 * much the line changes. CPython: Objects/locations.md. */
static int
location_change(location_table *table, uint32_t kind)
{
    enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int change = 0;
    if (kind == LONG || kind == NO_COLUMNS) {
        change = location_signed(table);
    }
    else if (kind >= ONE_LINE && kind < NO_COLUMNS) {
        change = (int)kind - ONE_LINE;
    }
    if (kind == LONG) {
        location_number(table);
        location_number(table);
        location_number(table);
    }
    else if (kind < NO_COLUMNS) {
        location_byte(table);
        if (kind >= ONE_LINE) {
            location_byte(table);
        }
    }
    return change;
}

/* Return the line of an instruction, given by its offset in bytes, in a table
 * of locations (co_linetable), or 0. */
static uint32_t
line_in(const uint8_t *bytes, size_t size, int first_line, int instruction)
{
    location_table table = {bytes, bytes + size};
    int line = first_line;
    int offset = 0;
    while (table.at < table.end) {
        uint32_t first = location_byte(&table);
        uint32_t kind = first >> 3 & 15;
        line += location_change(&table, kind);
        offset += (int)((first & 7) + 1) * (int)sizeof(_Py_CODEUNIT);
        if (instruction < offset) {
            return kind != 15 && line > 0 ? (uint32_t)line : 0;
        }
    }
    return 0;
}

uint32_t
fd_frame_line_at(uint64_t address)
{
    fd_frame frame;
    PyCodeObject code;
    PyVarObject head;
    uint8_t table[MOST_TABLE];
    if (!fd_copy_memory(address, &frame, sizeof frame)) {
        return 0;
    }
    uint64_t at = (uintptr_t)fd_frame_code(&frame);
    if (!fd_copy_memory(at, &code, sizeof code)
        || !fd_copy_memory((uintptr_t)code.co_linetable, &head, sizeof head)
        || head.ob_size <= 0 || head.ob_size > MOST_TABLE
        || !fd_copy_memory((uintptr_t)code.co_linetable
                               + offsetof(PyBytesObject, ob_sval),
                           table, (size_t)head.ob_size)) {
        return 0;
    }
    return line_in(table, (size_t)head.ob_size, code.co_firstlineno,
                   fd_frame_instruction(&frame));
}
