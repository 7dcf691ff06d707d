"""Build of the one C extension; everything declarative is in pyproject.toml.

Environment:
  CJSON_DIR               folder with include/cjson/cJSON.h and lib/
  ZLIB_DIR                folder with include/zlib.h and lib/
  FASTDISPATCH_DEV=1      compiler warnings are errors
  FASTDISPATCH_DEBUG=1    -O0 -g3 with assertions
  FASTDISPATCH_SANITIZE=1 AddressSanitizer and UndefinedBehaviorSanitizer
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent

WARNINGS = (
    "-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla "
    "-Wpointer-arith -Wundef -Wcast-qual -Wswitch-enum -Wformat=2 -Wnull-dereference"
).split()

NO_CJSON = """
fastdispatch needs the cJSON library (libcjson) and its header, and found neither in
  1. CJSON_DIR      a folder with include/cjson/cJSON.h and lib/libcjson.so
  2. CONDA_PREFIX   an active conda environment with the package cjson
  3. pkg-config     libcjson
Install it (Debian, Ubuntu: apt-get install libcjson-dev; Fedora: dnf install cjson-devel;
conda: conda install -c conda-forge cjson) or point CJSON_DIR at it.
"""


NO_ZLIB = """
fastdispatch needs the zlib library (libz) and its header, and found neither in
  1. ZLIB_DIR       a folder with include/zlib.h and lib/libz.so
  2. CONDA_PREFIX   an active conda environment with the package zlib
  3. pkg-config     zlib
Install it (Debian, Ubuntu: apt-get install zlib1g-dev; Fedora: dnf install zlib-devel;
conda: conda install -c conda-forge zlib) or point ZLIB_DIR at it.
"""


def switched_on(name):
    return os.environ.get(name, "") not in ("", "0")


def library_in(folder, header):
    """Compiler and linker options for a library below `folder`, None without its header."""
    if not folder or not (Path(folder) / "include" / header).is_file():
        return None
    lib = str(Path(folder) / "lib")
    return {"include_dirs": [str(Path(folder) / "include")], "library_dirs": [lib], "runtime_library_dirs": [lib]}


def from_pkg_config(package):
    def ask(option):
        return shlex.split(subprocess.check_output(["pkg-config", option, package], text=True))

    try:
        includes, libs = ask("--cflags-only-I"), ask("--libs-only-L")
    except (OSError, subprocess.CalledProcessError):
        return None
    folders = [flag[2:] for flag in includes]
    # Some distributions point -I into the cjson folder itself.
    folders += [str(Path(folder).parent) for folder in folders if Path(folder).name == "cjson"]
    return {"include_dirs": folders, "library_dirs": [flag[2:] for flag in libs]}


def library(variable, header, package, message):
    """Options for a library: where the variable says, else in the places that `message` lists."""
    told = os.environ.get(variable)
    if told:
        found = library_in(told, header)
    else:
        found = library_in(os.environ.get("CONDA_PREFIX"), header) or from_pkg_config(package)
        if found is None and (Path("/usr/include") / header).is_file():
            found = {}
    if found is None:
        sys.exit(message)
    return found


def libraries():
    cjson = library("CJSON_DIR", "cjson/cJSON.h", "libcjson", NO_CJSON)
    zlib = library("ZLIB_DIR", "zlib.h", "zlib", NO_ZLIB)
    keys = ("include_dirs", "library_dirs", "runtime_library_dirs")
    return {key: list(dict.fromkeys([*cjson.get(key, []), *zlib.get(key, [])])) for key in keys}


def variant():
    """The folder below build/: objects made with other options are never taken for these."""
    switches = [name for name in ("DEV", "DEBUG", "SANITIZE") if switched_on(f"FASTDISPATCH_{name}")]
    return "-".join(switches).lower() or "plain"


def flags():
    options = ["-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-g"]
    if switched_on("FASTDISPATCH_DEV"):
        options += [*WARNINGS, "-Werror"]
    if switched_on("FASTDISPATCH_DEBUG"):
        options += ["-O0", "-g3", "-UNDEBUG"]
    else:
        options += ["-O2"]
    link = []
    if switched_on("FASTDISPATCH_SANITIZE"):
        sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
        options += [*sanitize, "-O1"]
        link += sanitize
    return options, link


def extension():
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "csrc").rglob("*.c"))
    headers = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "csrc").rglob("*.h"))
    compile_args, link_args = flags()
    found = libraries()
    return Extension(
        "fastdispatch._core",
        sources=sources,
        depends=headers,
        include_dirs=["csrc", *found.pop("include_dirs")],
        libraries=["cjson", "z"],
        # CPython's own headers do not pass our warnings.
        extra_compile_args=[*compile_args, f"-isystem{python_include()}"],
        extra_link_args=link_args,
        **found,
    )


def python_include():
    import sysconfig

    return sysconfig.get_paths()["include"]


class BuildWithStartup(build_py):
    """Also install the .pth file that starts a recording when FASTDISPATCH=1."""

    def run(self):
        super().run()
        target = Path(self.build_lib) / "fastdispatch-startup.pth"
        self.copy_file(str(ROOT / "python" / "fastdispatch-startup.pth"), str(target))

    def get_source_files(self):
        return [*super().get_source_files(), "python/fastdispatch-startup.pth"]

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib) / "fastdispatch-startup.pth")]


setup(
    ext_modules=[extension()],
    cmdclass={"build_py": BuildWithStartup},
    options={"build": {"build_base": f"build/{variant()}"}},
)
