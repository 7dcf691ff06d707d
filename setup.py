"""Build of the one C extension; everything declarative is in pyproject.toml.

The layers that know nothing of Python are compiled once into a static library, which the extension of every Python and
the C tests link.

Environment:
  CJSON_DIR               folder with include/cjson/cJSON.h and lib/
  ZLIB_DIR                folder with include/zlib.h and lib/
  FASTDISPATCH_DEV=1      compiler warnings are errors
  FASTDISPATCH_DEBUG=1    -O0 -g3 with assertions
  FASTDISPATCH_SANITIZE=1 AddressSanitizer and UndefinedBehaviorSanitizer
  FASTDISPATCH_TSAN=1     ThreadSanitizer
"""

import contextlib
import os
import shlex
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.modified import newer_group

ROOT = Path(__file__).parent

#: The folders of csrc/, each of which includes only itself and those before it: others are not on its include path.
LAYERS = (
    "base json streams recording clocks trace profile pipeline graphs events export et gpu capture module"
).split()

#: What capture/ includes: it runs in the training process and must not depend on code that reads recordings.
CAPTURE = "base json streams recording clocks gpu capture".split()

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
    """The folder below build/; each set of options has its own folder of objects."""
    switches = [name for name in ("DEV", "DEBUG", "SANITIZE", "TSAN") if switched_on(f"FASTDISPATCH_{name}")]
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
        sanitize = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
        options += [*sanitize, "-fno-omit-frame-pointer", "-O1", "-UNDEBUG"]
        link += sanitize
    if switched_on("FASTDISPATCH_TSAN"):
        options += ["-fsanitize=thread", "-fno-omit-frame-pointer", "-O1"]
        link += ["-fsanitize=thread"]
    return options, link


def rooms(layer):
    """A folder of links to the layers that `layer` may include: its own and those before it."""
    folder = ROOT / "build" / "include" / layer
    folder.mkdir(parents=True, exist_ok=True)
    below = CAPTURE if layer == "capture" else LAYERS[: LAYERS.index(layer) + 1]
    for old in folder.iterdir():
        if old.name not in below:
            old.unlink(missing_ok=True)
    for other in below:
        with contextlib.suppress(FileExistsError):
            (folder / other).symlink_to(ROOT / "csrc" / other, target_is_directory=True)
    return f"build/include/{layer}"


def files(suffix, below_python):
    """The files of the layers that include Python.h, or of those that do not."""
    found = (path.relative_to(ROOT) for path in (ROOT / "csrc").rglob(f"*{suffix}"))
    return sorted(str(path) for path in found if (path.parts[1] in ("capture", "module")) != below_python)


def layers():
    """The static library: all below capture."""
    found = libraries()
    return {
        "sources": files(".c", below_python=True),
        "depends": files(".h", below_python=True),
        "include_dirs": found["include_dirs"],
        "cflags": [*flags()[0], "-fPIC"],
    }


def extension():
    compile_args, link_args = flags()
    found = libraries()
    return Extension(
        "fastdispatch._core",
        sources=files(".c", below_python=False),
        # The library is linked again after a change of its sources.
        depends=[*files(".h", below_python=False), *layers()["depends"], *layers()["sources"]],
        include_dirs=found.pop("include_dirs"),
        libraries=["fd", "cjson", "z"],
        # CPython's own headers do not pass our warnings.
        extra_compile_args=[*compile_args, f"-isystem{python_include()}"],
        extra_link_args=link_args,
        **found,
    )


def python_include():
    import sysconfig

    return sysconfig.get_paths()["include"]


def compile_together(compiler):
    """Compile as many files at once as there are cores, each with the include path of its layer."""
    one_by_one = compiler.compile

    def together(sources, *, include_dirs=(), **options):
        def compile_one(source):
            return one_by_one([source], include_dirs=[rooms(Path(source).parts[1]), *include_dirs], **options)

        with ThreadPool() as pool:
            return [made for one in pool.map(compile_one, sources) for made in one]

    compiler.compile = together


class BuildLayers(build_clib):
    """Compile the files that changed, not all when one did."""

    def build_libraries(self, libraries):
        compile_together(self.compiler)
        for name, info in libraries:
            objects = self.compiler.object_filenames(info["sources"], output_dir=self.build_temp)
            made = zip(info["sources"], objects, strict=True)
            changed = [source for source, made in made if newer_group([source, *info["depends"]], made)]
            self.compiler.compile(
                changed, output_dir=self.build_temp, include_dirs=info["include_dirs"], extra_postargs=info["cflags"]
            )
            # The archiver keeps what it had: the object of a file that is gone.
            Path(self.build_clib, self.compiler.library_filename(name)).unlink(missing_ok=True)
            self.compiler.create_static_lib(objects, name, output_dir=self.build_clib)


class BuildCore(build_ext):
    def run(self):
        self.run_command("build_clib")  # of itself only `build` does, and `build_ext --inplace` has nothing to link
        super().run()

    def build_extensions(self):
        compile_together(self.compiler)
        super().build_extensions()


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
    libraries=[("fd", layers())],
    ext_modules=[extension()],
    cmdclass={"build_py": BuildWithStartup, "build_clib": BuildLayers, "build_ext": BuildCore},
    options={
        "build": {"build_base": f"build/{variant()}"},
        # One for every version of Python.
        "build_clib": {"build_clib": f"build/{variant()}/layers", "build_temp": f"build/{variant()}/layers"},
    },
)
