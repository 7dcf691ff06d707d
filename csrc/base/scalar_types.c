#include "base/scalar_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const fd_dtype dtypes[] = {
    {"unsigned char", "uint8", 1},
    {"signed char", "int8", 1},
    {"short", "int16", 2},
    {"int", "int32", 4},
    {"long int", "int64", 8},
    {"c10::Half", "float16", 2},
    {"float", "float32", 4},
    {"double", "float64", 8},
    {"c10::complex<c10::Half>", "complex32", 4},
    {"c10::complex<float>", "complex64", 8},
    {"c10::complex<double>", "complex128", 16},
    {"bool", "bool", 1},
    {"c10::qint8", "qint8", 1},
    {"c10::quint8", "quint8", 1},
    {"c10::qint32", "qint32", 4},
    {"c10::BFloat16", "bfloat16", 2},
    {"c10::quint4x2", "quint4x2", 1},
    {"c10::quint2x4", "quint2x4", 1},
    {"c10::bits1x8", "bits1x8", 1},
    {"c10::bits2x4", "bits2x4", 1},
    {"c10::bits4x2", "bits4x2", 1},
    {"c10::bits8", "bits8", 1},
    {"c10::bits16", "bits16", 2},
    {"c10::Float8_e5m2", "float8_e5m2", 1},
    {"c10::Float8_e4m3fn", "float8_e4m3fn", 1},
    {"c10::Float8_e5m2fnuz", "float8_e5m2fnuz", 1},
    {"c10::Float8_e4m3fnuz", "float8_e4m3fnuz", 1},
    {"short unsigned int", "uint16", 2},
    {"unsigned int", "uint32", 4},
    {"long unsigned int", "uint64", 8},
    {"c10::dummy_uint1_7_t<1>", "uint1", 1},
    {"c10::dummy_uint1_7_t<2>", "uint2", 1},
    {"c10::dummy_uint1_7_t<3>", "uint3", 1},
    {"c10::dummy_uint1_7_t<4>", "uint4", 1},
    {"c10::dummy_uint1_7_t<5>", "uint5", 1},
    {"c10::dummy_uint1_7_t<6>", "uint6", 1},
    {"c10::dummy_uint1_7_t<7>", "uint7", 1},
    {"c10::dummy_int1_7_t<1>", "int1", 1},
    {"c10::dummy_int1_7_t<2>", "int2", 1},
    {"c10::dummy_int1_7_t<3>", "int3", 1},
    {"c10::dummy_int1_7_t<4>", "int4", 1},
    {"c10::dummy_int1_7_t<5>", "int5", 1},
    {"c10::dummy_int1_7_t<6>", "int6", 1},
    {"c10::dummy_int1_7_t<7>", "int7", 1},
    {"c10::Float8_e8m0fnu", "float8_e8m0fnu", 1},
    {"c10::Float4_e2m1fn_x2", "float4_e2m1fn_x2", 1},
};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

const fd_dtype *
fd_dtype_at(uint32_t number)
{
    static const fd_dtype unknown = {"unknown", "unknown", 0};
    return number < DTYPES ? &dtypes[number] : &unknown;
}

/* Return the next character in lower case, skipping '_' and "c10::", or 0 at
 * the end. */
static char
next_letter(const char **at, const char *end)
{
    static const char space[] = "c10::";
    const size_t size = sizeof space - 1;
    for (;;) {
        if (*at < end && **at == '_') {
            *at += 1;
        }
        else if ((size_t)(end - *at) >= size
                 && memcmp(*at, space, size) == 0) {
            *at += size;
        }
        else {
            break;
        }
    }
    char c = *at < end ? *(*at)++ : '\0';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_same(const char *name, const char *end, const char *other)
{
    const char *other_end = other + strlen(other);
    char c;
    do {
        c = next_letter(&name, end);
        if (c != next_letter(&other, other_end)) {
            return false;
        }
    } while (c != '\0');
    return true;
}

uint32_t
fd_dtype_size(const char *name, size_t size)
{
    /* Other names of the same types, used by c10d and by older observers. */
    static const struct {
        const char *name;
        uint8_t bytes;
    } others[] = {
        {"byte", 1},           {"char", 1},        {"short int", 2},
        {"long", 8},           {"complexhalf", 4}, {"complexfloat", 8},
        {"complexdouble", 16},
    };
    const char *end = name + size;
    for (uint32_t i = 0; i < DTYPES; i++) {
        if (is_same(name, end, dtypes[i].cpp)
            || is_same(name, end, dtypes[i].name)) {
            return dtypes[i].bytes;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (is_same(name, end, others[i].name)) {
            return others[i].bytes;
        }
    }
    return 0;
}
