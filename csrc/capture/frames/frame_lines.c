#include "capture/frames/frame_lines.h"

#include "capture/frames/memory_copies.h"

enum { MOST_TABLE = 16 * 1024 };

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

uint32_t
fd_frame_line_in(const uint8_t *bytes, size_t size, int first_line,
                 int instruction)
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
    return fd_frame_line_in(table, (size_t)head.ob_size, code.co_firstlineno,
                            fd_frame_instruction(&frame));
}
