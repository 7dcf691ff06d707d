"""Build of the one C extension; everything declarative is in pyproject.toml.

Environment:
  CJSON_DIR               folder with include/cjson/cJSON.h and lib/
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


def switched_on(name):
    return os.environ.get(name, "") not in ("", "0")


def cjson_in(folder):
    """Compiler and linker options for a cJSON below `folder`, None without one."""
    if not folder or not (Path(folder) / "include" / "cjson" / "cJSON.h").is_file():
        return None
    lib = str(Path(folder) / "lib")
    return {"include_dirs": [str(Path(folder) / "include")], "library_dirs": [lib], "runtime_library_dirs": [lib]}


def cjson_from_pkg_config():
    def ask(option):
        return shlex.split(subprocess.check_output(["pkg-config", option, "libcjson"], text=True))

    try:
        includes, libs = ask("--cflags-only-I"), ask("--libs-only-L")
    except (OSError, subprocess.CalledProcessError):
        return None
    folders = [flag[2:] for flag in includes]
    # Some distributions point -I into the cjson folder itself.
    folders += [str(Path(folder).parent) for folder in folders if Path(folder).name == "cjson"]
    return {"include_dirs": folders, "library_dirs": [flag[2:] for flag in libs]}


def cjson():
    told = os.environ.get("CJSON_DIR")
    if told:
        found = cjson_in(told)
    else:
        found = cjson_in(os.environ.get("CONDA_PREFIX")) or cjson_from_pkg_config()
        if found is None and Path("/usr/include/cjson/cJSON.h").is_file():
            found = {}
    if found is None:
        sys.exit(NO_CJSON)
    return found


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
    found = cjson()
    return Extension(
        "fastdispatch._core",
        sources=sources,
        depends=headers,
        include_dirs=["csrc", *found.pop("include_dirs", [])],
        libraries=["cjson"],
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
