"""Short names of GPU kernels: ``vectorized_elementwise<copy bf16 x8>`` for 300 to 600 characters of C++."""

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from math import prod

#: Longer names are cut before they are read.
_READ = 4096
_LONGEST = 60
_END = 14

#: Element types by their C++ names, without namespaces.
_NAMES_OF_TYPES = """
f32: float; f64: double; bf16: BFloat16, bfloat16_t, __nv_bfloat16, __hip_bfloat16;
f16: Half, half, half_t, __half; tf32: tfloat32_t; f8e4m3: Float8_e4m3fn, float_e4m3_t, __nv_fp8_e4m3;
f8e5m2: Float8_e5m2, float_e5m2_t, __nv_fp8_e5m2; c64: complex<float>; c128: complex<double>; bool: bool;
i8: char, signed char; u8: unsigned char; i16: short; i32: int; i64: long, long long; u32: unsigned int;
u64: unsigned long, unsigned long long
"""
_TYPES = {
    name: short
    for short, names in (row.split(": ") for row in _NAMES_OF_TYPES.replace("\n", " ").strip().split("; "))
    for name in names.split(", ")
}
#: Types of indices, which say nothing beside another type.
_INDICES = ("i32", "u32", "u64")

#: Namespaces that many kernels share.
_SHARED = re.compile(
    r"(?:at_cuda_detail|at|native|c10|cuda|detail|internal|impl|std|thrust|pytorch_flash|_GLOBAL__N_\w+|CUB_\w+|)$"
)
#: Template arguments without information for a reader.
_IGNORED = re.compile(
    r"array|Array|\w*OffsetCalculator|\w*OffsetCalc|Load\w*|Store\w*|\w*Metadata|function_traits|\w*Params\w*|identity\w*|nullptr|void"
)
#: Templates around the function that a kernel applies: the function is their last argument.
_WRAPPERS = re.compile(r"(gpu_kernel\w*|gpu_index_kernel|func_wrapper_t|\w*BinaryFunctor|[AB]UnaryFunctor)$")
_ENDINGS = re.compile(
    r"(_kernel)?(_impl|_cuda|_cuda_out)?$|_?[fF]unctor$|Ops$|Epilogue$|_and_transform$"
    r"|(CUDA)?Kernel(Template|Impl)?$"
)
_OPERATIONS = {"multiplies": "mul", "plus": "add", "divides": "div", "minus": "sub", "direct_copy": "copy"}
_OPERATIONS |= {"bfloat16_copy": "copy_to_bf16", "float16_copy": "copy_to_f16"}

#: Parts of generated names, without which the rest still tells kernels apart; removed until a name is short enough.
_DISPENSABLE = [
    (re.compile(pattern), to)
    for pattern, to in (
        (r"_execute(_segment_k_(off|on))?_kernel_", ""),
        (r"_+\d*x?_cublas$", ""),
        (r"cudnn_generated_fort_native_", "cudnn_"),
        (r"_kernel\d(_\d+)?$", ""),
        (r"_tilesize", "_"),
        (r"_warp(group)?size[\dx]+", ""),
        (r"_tensorop", ""),
        (r"_aligna\d+_alignc\d+", ""),
        (r"_cga\d[\dx]*", ""),
        (r"_wgmma", ""),
        (r"_ldg\d+_(f2f|relu_f2f)?", "_"),
        (r"_align\d+$", ""),
    )
]
#: References to earlier parts of a mangled name. Each can double its length, so that names with many are not demangled;
#: those of PyTorch have up to 11.
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
_REFERENCES = 32
_NCCL = re.compile(r"(?:nccl|rccl)(?:Dev)?Kernel_(\w+)")
_TENSILE = re.compile(r"(Cijk_\w+?)_MT(\d+x\d+x\d+)")
_TILE = re.compile(r"tuple<((?:[\w:]*C<(?:\(int\))?\d+>,? ?){3,})>")


#: Kernels of libraries that communicate; Inductor names its own after everything that they compute.
_COMMUNICATES = re.compile(r"(?!triton_).*(nccl|nvshmem|mscclpp|cross_device_reduce)")

#: Kernels of cuBLAS, cuDNN and CUTLASS that multiply and add in float32, and those that round operands to TF32.
_IN_FLOAT32 = re.compile(r"(?<![a-z])sgemm|gemm_f32f32_f32f32_f32")
_IN_TF32 = re.compile(r"tf32|s1688gemm")


def computes(name: str) -> bool:
    """Return whether a kernel is neither a copy or fill nor of a library that communicates."""
    return not name.startswith(("Memcpy ", "Memset")) and not _COMMUNICATES.match(name)


def precision_of_kernel(name: str) -> str:
    """Return ``fp32`` or ``tf32`` for a kernel that is known to multiply float32 matrices so, else empty."""
    return "tf32" if _IN_TF32.search(name) else "fp32" if _IN_FLOAT32.search(name) else ""


def short_kernel_names(names: Iterable[str]) -> list[str]:
    """Return a short name for each name; further names with the same short form get a number."""
    times: dict[str, int] = {}
    short = []
    for name in map(short_kernel_name, names):
        times[name] = times.get(name, 0) + 1
        short.append(name if times[name] == 1 else f"{name} #{times[name]}")
    return short


@lru_cache(4096)
def short_kernel_name(full: str) -> str:
    """Return at most 60 characters: the kernel, what it applies, its type of elements, its tile."""
    name = normal(demangled(full[:_READ])[:_READ])
    if found := _NCCL.match(name):
        return clipped(f"nccl{found[1].replace('_', ' ')}")
    if found := _TENSILE.match(name):
        return clipped(f"{found[1]}_MT{found[2]}")
    try:
        return clipped(kernel(name) if re.search(r"<|[\w>]\(", name) else generated(name))
    except (ValueError, IndexError, RecursionError):  # a name that another program cut
        return clipped(name)


def collective_kernel(full: str) -> tuple[str, str] | None:
    """Return operator and algorithm of a kernel of NCCL or RCCL, as ``("AllReduce", "RING LL")`` of
    ``ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)``; None for other kernels."""
    found = _NCCL.match(normal(demangled(full[:_READ])))
    if found is None:
        return None
    operator, *parts = found[1].split("_")
    return operator, " ".join(part for part in parts if part.isupper())


def clipped(name: str) -> str:
    """Drop the middle: names of generated code differ at the end."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - _END - 1]}…{name[-_END:]}"


@cache
def demangler() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.free.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return library


def demangled(name: str) -> str:
    """Return the C++ name, or the name itself if it is plain or no library can tell."""
    library = demangler() if name.startswith("_Z") and len(_REFERENCE.findall(name)) <= _REFERENCES else None
    if library is None or "\0" in name:
        return name
    status = ctypes.c_int()
    plain = name.removesuffix(".kd").encode("utf-8", "replace")
    text = library.__cxa_demangle(plain, None, None, ctypes.byref(status))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        library.free(text)


def normal(name: str) -> str:
    """Remove parts without information, and write lambdas as GCC does."""
    name = name.removesuffix(".kd").replace("(anonymous namespace)::", "").replace("::operator()", "")
    name = re.sub(r"'lambda(\d*)'(\([^()]*\))", lambda m: f"{{lambda{m[2]}#{int(m[1] or -1) + 2}}}", name)
    return name.removeprefix("void ")


def generated(name: str) -> str:
    """Shorten the names of cuBLAS, cuDNN and CUTLASS, which consist of parts."""
    for pattern, to in _DISPENSABLE:
        if len(name) > _LONGEST:
            name = pattern.sub(to, name)
    return name


def split(text: str, separator: str) -> list[str]:
    """Split at separators outside brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in "<({[":
            depth += 1
        elif char in ">)}]":
            depth -= text[at - 1] != "-"
        elif depth == 0 and text.startswith(separator, at):
            parts.append(text[start:at].strip())
            start = at + len(separator)
    return [*parts, text[start:].strip()]


def template(part: str) -> tuple[str, list[str]]:
    """Return the identifier and the template arguments of ``name<a, b>(...)``."""
    name = re.match(r"[\w$~]*", part.strip())
    assert name is not None
    rest = part.strip()[name.end() :]
    if not rest.startswith("<"):
        return name[0], []
    depth = 0
    for end, char in enumerate(rest):
        depth += (char == "<") - (char == ">" and rest[end - 1] != "-")
        if depth == 0:
            return name[0], split(rest[1:end], ",")
    raise ValueError(part)


def kernel(name: str) -> str:
    path = split(split(outer(name), " ")[-1], "::")
    own, arguments = template(path[-1])
    if own in ("Kernel", "Kernel2", "device_kernel") and arguments:
        return by_tile(arguments[0]) if "<" in arguments[0] else generated(arguments[0].split("::")[-1])
    above = [part for part, _ in map(template, path[:-1]) if not _SHARED.match(part)]
    if own == "kernel" and above:
        own = above.pop()
    prefix = "log_" if own.startswith("softmax_warp") and arguments[4:5] == ["true"] else ""
    prefix += "::".join([*above[:1], ""])
    text = prefix + (_ENDINGS.sub("", re.sub("(_cuda)?_kernel(?=_)", "", own)) or own)
    while len(text) > 40 and "::" in text:
        text = text.split("::", 1)[1]
    words = list(details(own, arguments))
    while words and len(text) + len(" ".join(words)) + 2 > _LONGEST:
        words.pop(0)
    return f"{text}<{' '.join(words)}>" if words else text


def outer(name: str) -> str:
    """Return a declaration without its parameters."""
    depth = 0
    for at, char in enumerate(name):
        if char == "(" and depth == 0:
            return name[:at]
        depth += (char in "<({[") - (char in ">)}]")
    return name


def by_tile(text: str) -> str:
    """Name a kernel of CUTLASS 3 by the class that does the work, its first type and its tile."""
    classes = re.findall(r"\b(Gemm\w+|Conv\w+|Flash\w+|Fmha\w+)<", text)
    kind = next(iter(classes), "") or template(split(text, "::")[-1])[0]
    types = [short for word in re.findall(r"[\w:]+_t\b|float|double", text) if (short := element_type(word))]
    tiles = [re.findall(r"C<(?:\(int\))?(\d+)>", tile)[:3] for tile in _TILE.findall(text)]
    tile = max(tiles, key=lambda numbers: prod(map(int, numbers)), default=[])
    return f"cutlass::{kind}<{' '.join([*types[:1], 'x'.join(tile)]).strip()}>"


def element_type(text: str) -> str | None:
    text = re.sub(r"\bconst\b|[&*]", "", text).strip()
    found = re.fullmatch(r"(?:\w+::)*OpaqueType<(\d+)u?>", text)
    return f"{found[1]}B" if found else _TYPES.get(re.sub(r"^(?:\w+::)+", "", text))


def types_of(arguments: Iterable[str]) -> list[str]:
    """Return the different types among the arguments, without types of indices if there are others."""
    found = list(dict.fromkeys(short for text in arguments if (short := element_type(text))))
    return [short for short in found if short not in _INDICES] or found


def numbers_of(arguments: Iterable[str]) -> list[str]:
    return [found[1] for text in arguments if (found := re.fullmatch(r"(?:\([\w: ]+\))?(\d+)[ul]*", text))]


def details(own: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the functions that a kernel applies, types of elements, and sizes."""
    classes = [text for text in arguments if re.search(r"[A-Za-z_]\w*[<({:]", text) and not element_type(text)]
    applied, types = [], types_of(arguments)
    numbers = numbers_of(arguments)
    for text in classes:
        name, _ = template(split(text, "::")[-1])
        if _IGNORED.fullmatch(name):
            continue
        if re.search(r"[tT]raits|Policy", text.split("<")[0]):
            kind = template(re.sub(r"^(?:\w+::)+", "", text))[1]
            types, numbers = types_of(kind) or types, numbers_of(kind)[:3]
            continue
        word, of = function(text)
        applied.append(word)
        types = of if of and ("Functor" in name or set(types) <= set(_INDICES)) else types
    yield from dict.fromkeys(filter(None, applied))
    yield from types[:2]
    if "WithCast" in "".join(classes):
        yield "cast"
    if own.startswith("vectorized_elementwise"):
        yield from (f"x{number}" for number in numbers[:1])
    elif "elementwise" not in own and not own.startswith("multi_tensor"):
        yield from ["x".join(numbers[:3])] if numbers else []


def function(text: str) -> tuple[str, list[str]]:
    """Return the name of what a kernel applies, and its types of elements: ``("mul", ["f32"])``."""
    path = split(text, "::")
    lambdas = [part for part in path if part.startswith("{lambda")]
    own, arguments = template(next((part for part in reversed(path) if part and not part.startswith("{")), ""))
    if _WRAPPERS.match(own) and arguments:
        name, types = function(arguments[-1])
        return name + ("_scalar" if own[1:] == "UnaryFunctor" else ""), types_of(arguments) or types
    if own == "ReduceOp" and len(arguments) > 1:
        return function(arguments[1])[0], types_of([arguments[0], *arguments[3:4]])
    types = types_of(arguments)
    number = ""
    if lambdas and (last := re.match(r"{lambda\((.*)\)#(\d+)}", lambdas[-1])):
        types = types or types_of(split(last[1], ","))
        number = f"#{last[2]}" if last[2] != "1" else ""
    if own.startswith("FusedAdam") and "ADAM_MODE)1" in text:
        own = "FusedAdamW"
    scalar = "_scalar" if own.startswith("CUDAFunctorOnSelf_") else ""
    own = re.sub(r"^CUDAFunctor(OnSelf)?_", "", own)
    own = _ENDINGS.sub("", own) or own
    own = own.lower() if re.fullmatch(r"[A-Z][a-z]+", own) else own
    return _OPERATIONS.get(own, own) + scalar + number, types
