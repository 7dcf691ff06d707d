#!/bin/sh
# Compile the C layers and their tests for aarch64 and run them under qemu. The compiler, qemu and the libraries for
# aarch64 are Debian's packages: installed by root, otherwise the missing ones are printed.
# Usage: aarch64.sh PYTHON [TARGET of make...]
set -e
python=$1
shift
cd "$(dirname "$0")"
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null || {
	packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
	[ "$(id -u)" = 0 ] && apt-get update -qq &&
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null || {
		echo "fastdispatch: please install these packages of your system, then try again: $packages" >&2
		exit 1
	}
}
prefix=$PWD/build/aarch64/prefix
if [ ! -e "$prefix/complete" ]; then
	# A separate list of packages: the architectures of this system stay as they are.
	rm -rf "$prefix" && mkdir -p "$prefix/lists" "$prefix/archives" "$prefix/lib"
	apt() {
		apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
			-o Dir::State::Lists="$prefix/lists" -o Dir::Cache="$prefix/archives" "$@"
	}
	apt update
	(cd "$prefix/archives" && apt download libcjson1 libcjson-dev zlib1g zlib1g-dev)
	for archive in "$prefix"/archives/*.deb; do
		dpkg-deb -x "$archive" "$prefix"
	done
	cp -r "$prefix/usr/include" "$prefix"
	find "$prefix" -path '*/aarch64-linux-gnu/lib*' \( -name '*.so*' -o -name '*.a' \) -exec cp -a {} "$prefix/lib" \;
	find "$prefix/lib" -xtype l -delete # links to absolute paths; libz.a remains
	touch "$prefix/complete"
fi
export CJSON_DIR="$prefix" ZLIB_DIR="$prefix" FASTDISPATCH_TARGET=aarch64
exec make "${@:-plain}" PYTHON="$python" CC="${CROSS_CC:-aarch64-linux-gnu-gcc}" BUILD=build/aarch64 TARGET=aarch64 \
	RUN="qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$prefix/lib"
