/* Chakra's field numbers: schema/protobuf/et_def.proto of mlcommons/chakra. A
 * file is a sequence of length-prefixed messages: GlobalMetadata, then
 * nodes. */
#ifndef FD_CHAKRA_FIELDS_H
#define FD_CHAKRA_FIELDS_H

#include "streams/protobuf.h"

enum {
    FD_CHAKRA_VERSION = 1, /* of GlobalMetadata */
    FD_CHAKRA_META_ATTR = 2,

    FD_CHAKRA_ID = 1, /* of Node */
    FD_CHAKRA_NAME = 2,
    FD_CHAKRA_TYPE = 3,
    FD_CHAKRA_CTRL_DEPS = 4,
    FD_CHAKRA_DATA_DEPS = 5,
    FD_CHAKRA_START = 6,    /* us */
    FD_CHAKRA_DURATION = 7, /* us */
    FD_CHAKRA_INPUTS = 8,
    FD_CHAKRA_OUTPUTS = 9,
    FD_CHAKRA_ATTR = 10,

    FD_CHAKRA_VALUES = 1, /* of IOInfo */
    FD_CHAKRA_SHAPES = 2,
    FD_CHAKRA_TYPES = 3,

    FD_CHAKRA_ATTR_NAME = 1, /* of AttributeProto */
    FD_CHAKRA_DOUBLE = 3,
    FD_CHAKRA_INT32 = 7,
    FD_CHAKRA_INT64 = 9,
    FD_CHAKRA_UINT64 = 13,
    FD_CHAKRA_BOOL = 27,
    FD_CHAKRA_STRING = 29,
    FD_CHAKRA_BYTES = 31,
    FD_CHAKRA_LAST = 32
};

/* Return the wire type of the value of an AttributeProto. Its fields are
 * numbers of ten types, each followed by a list of the same type. */
static inline uint32_t
fd_chakra_wire(uint32_t field)
{
    switch (field) {
    case 3:
    case 21:
    case 25:
        return FD_PROTO_FIXED64;
    case 5:
    case 19:
    case 23:
        return FD_PROTO_FIXED32;
    case 7:
    case 9:
    case 11:
    case 13:
    case 15:
    case 17:
    case 27:
        return FD_PROTO_VARINT;
    default:
        return FD_PROTO_BYTES;
    }
}

#endif
