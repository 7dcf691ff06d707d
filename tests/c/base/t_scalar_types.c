#include "check.h"

#include "base/scalar_types.h"

#include <string.h>

TEST(names_and_sizes)
{
    SAME(fd_dtype_at(6)->name, "float32");
    EQUAL(fd_dtype_at(6)->bytes, 4);
    SAME(fd_dtype_at(15)->cpp, "c10::BFloat16");
    SAME(fd_dtype_at(45)->name, "float4_e2m1fn_x2");
    SAME(fd_dtype_at(46)->name, "unknown");
    EQUAL(fd_dtype_at(UINT32_MAX)->bytes, 0);
}

/* As PyTorch's observer, Kineto, c10d and Python spell them. */
TEST(spellings)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } cases[] = {
        {"c10::Half", 2},
        {"Half", 2},
        {"half", 2},
        {"float16", 2},
        {"BFloat16", 2},
        {"c10::BFloat16", 2},
        {"Byte", 1},
        {"Char", 1},
        {"unsigned char", 1},
        {"Bool", 1},
        {"Short", 2},
        {"short int", 2},
        {"short unsigned int", 2},
        {"UInt16", 2},
        {"Int", 4},
        {"Float", 4},
        {"unsigned int", 4},
        {"Long", 8},
        {"long int", 8},
        {"Double", 8},
        {"UInt64", 8},
        {"QInt8", 1},
        {"QUInt8", 1},
        {"QInt32", 4},
        {"ComplexHalf", 4},
        {"c10::complex<c10::Half>", 4},
        {"ComplexFloat", 8},
        {"c10::complex<float>", 8},
        {"ComplexDouble", 16},
        {"complex128", 16},
        {"float8_e8m0fnu", 1},
        {"Float8_e4m3fn", 1},
        {"c10::Float8_e5m2fnuz", 1},
        {"Float4_e2m1fn_x2", 1},
        {"strange", 0},
        {"floats", 0},
        {"floa", 0},
        {"c10::", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        EQUAL(fd_dtype_size(name, strlen(name)), cases[i].bytes);
    }
    EQUAL(fd_dtype_size("floating", 5), 4);
}
