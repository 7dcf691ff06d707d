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
  FASTDISPATCH_TARGET     name of the processor that CC compiles for, if it is another one
"""

import contextlib
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
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
    "base json streams recording clocks trace profile columns pipeline events et gpu capture module"
).split()

#: What capture/ includes: it runs in the training process and must not depend on code that reads recordings.
CAPTURE = "base json streams recording clocks gpu capture".split()

WARNINGS = (
    "-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla "
    "-Wpointer-arith -Wundef -Wcast-qual -Wswitch-enum -Wformat=2 -Wnull-dereference"
).split()

def missing(name, variable, header, package, debian, fedora, conda):
    """Return one line with the missing library, the places of the search, and the packages to install."""
    return (
        f"fastdispatch needs {name} and its header, and neither {variable}, CONDA_PREFIX nor pkg-config ({package}) has "
        f"them: apt-get install {debian} (Fedora: dnf install {fedora}; conda: conda install -c conda-forge {conda}), or "
        f"set {variable} to a folder with include/{header} and lib/"
    )


NO_CJSON = missing("cJSON", "CJSON_DIR", "cjson/cJSON.h", "libcjson", "libcjson-dev", "cjson-devel", "cjson")
NO_ZLIB = missing("zlib", "ZLIB_DIR", "zlib.h", "zlib", "zlib1g-dev", "zlib-devel", "zlib")


def check_platform():
    """Exit with one line where the recorder cannot work."""
    version = ".".join(map(str, sys.version_info[:3]))
    if not (3, 11) <= sys.version_info[:2] < (3, 16) or sys.implementation.name != "cpython":
        sys.exit(f"fastdispatch supports CPython 3.11 to 3.15, and this is {sys.implementation.name} {version}")
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
    if sys.platform != "linux":
        sys.exit(f"fastdispatch records on Linux only: it cannot be built on {system}")
    if sys.maxsize < 2**32 or sys.byteorder != "little":
        sys.exit(f"fastdispatch needs a 64-bit little-endian processor: it cannot be built on {platform.machine()}")
    if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
        sys.exit("fastdispatch needs glibc: it is not tested with musl; use an image that is not Alpine")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit(
            "fastdispatch needs a Python with the GIL: its tables of functions rely on it "
            "use python3.14 instead of python3.14t"
        )


#: The symbols of static libraries stay inside: the program may use another version of the same library.
HIDDEN = "-Wl,--exclude-libs,ALL"


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
    found = {key: list(dict.fromkeys([*cjson.get(key, []), *zlib.get(key, [])])) for key in keys}
    return found | {"extra_link_args": [linked("cjson", found["library_dirs"]), linked("z", found["library_dirs"])]}


def linked(name, folders):
    """The static library where the linker accepts it, so that a wheel does not need it; else the shared one."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))

    def run(*options):
        return subprocess.run([*compiler, *options], capture_output=True, text=True, check=False)

    try:
        places = [*(Path(folder) / f"lib{name}.a" for folder in folders)]
        places += [Path(run(f"-print-file-name=lib{name}.a").stdout.strip())]
        for archive in filter(Path.is_file, places):
            whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", HIDDEN]
            if run("-shared", "-o", os.devnull, *whole).returncode == 0:
                return str(archive)
    except OSError:
        pass  # the compilation reports that there is no compiler
    return f"-l{name}"


def variant():
    """The folder below build/; each set of options has its own folder of objects."""
    switches = [name for name in ("DEV", "DEBUG", "SANITIZE", "TSAN") if switched_on(f"FASTDISPATCH_{name}")]
    return "-".join([*switches, os.environ.get("FASTDISPATCH_TARGET", "")]).strip("-").lower() or "plain"


def flags():
    # Frame pointers let perf and other profilers walk through the recorder.
    options = ["-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-g", "-fno-omit-frame-pointer"]
    if switched_on("FASTDISPATCH_DEV"):
        options += [*WARNINGS, "-Werror"]
    if switched_on("FASTDISPATCH_DEBUG"):
        options += ["-O0", "-g3", "-UNDEBUG"]
    else:
        options += ["-O2"]
    link = [HIDDEN, *(["-Wl,--strip-all"] if variant() == "plain" else [])]
    if switched_on("FASTDISPATCH_SANITIZE"):
        sanitize = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
        options += [*sanitize, "-O1", "-UNDEBUG"]
        link += sanitize
    if switched_on("FASTDISPATCH_TSAN"):
        options += ["-fsanitize=thread", "-O1"]
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
        libraries=["fd"],
        # CPython's own headers do not pass our warnings.
        extra_compile_args=[*compile_args, f"-isystem{python_include()}"],
        extra_link_args=[*link_args, *found.pop("extra_link_args"), "-lm"],
        **found,
    )


def python_include():
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
    """Also install the files that start a recording when FASTDISPATCH=1: .start (PEP 829) and .pth (before 3.15)."""

    FILES = ("fastdispatch-startup.pth", "fastdispatch-startup.start")

    def run(self):
        super().run()
        # An editable installation has only links to the sources, except for these files.
        folder = self.get_finalized_command("install").install_purelib if self.editable_mode else self.build_lib
        for name in self.FILES:
            self.copy_file(str(ROOT / "python" / name), str(Path(folder) / name))

    def get_source_files(self):
        return [*super().get_source_files(), *(f"python/{name}" for name in self.FILES)]

    def get_outputs(self, include_bytecode=1):
        own = [] if self.editable_mode else [str(Path(self.build_lib) / name) for name in self.FILES]
        return [*super().get_outputs(include_bytecode), *own]


check_platform()
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
