#!/bin/sh
# Install the system packages for the build and for graphs: cJSON, zlib, Graphviz, a C compiler, Python's headers and
# venv. Only as root on Debian and Ubuntu; otherwise prints the missing ones in one line.
# Usage: system-packages.sh PYTHON [PROGRAM...]
# Each PROGRAM (or PROGRAM:PACKAGE) is for some of the tests, which are skipped if it cannot be installed.
python=$1
shift
install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq &&
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}
for program; do
	command -v "${program%%:*}" >/dev/null || install --no-install-recommends "${program#*:}" ||
		echo "fastdispatch: ${program%%:*} is not installed: the tests that use it will be skipped" >&2
done
missing=""
[ -f /usr/include/cjson/cJSON.h ] || [ -f "$CJSON_DIR/include/cjson/cJSON.h" ] ||
	[ -f "$CONDA_PREFIX/include/cjson/cJSON.h" ] || pkg-config --exists libcjson 2>/dev/null ||
	missing="$missing libcjson-dev"
[ -f /usr/include/zlib.h ] || [ -f "$ZLIB_DIR/include/zlib.h" ] || [ -f "$CONDA_PREFIX/include/zlib.h" ] ||
	pkg-config --exists zlib 2>/dev/null || missing="$missing zlib1g-dev"
command -v dot >/dev/null || missing="$missing graphviz"
command -v gcc >/dev/null || missing="$missing gcc libc6-dev"
"$python" -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
header=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h
[ -f "$header" ] || missing="$missing python3-dev"
[ -z "$missing" ] && exit 0
# shellcheck disable=SC2086 # one word per package
install $missing && exit 0
echo "fastdispatch: please install these packages of your system, then try again:$missing" >&2
exit 1
