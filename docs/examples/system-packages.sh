#!/bin/sh
# What the build and the pictures need from the system: cJSON (libcjson-dev), Graphviz, a C compiler.
# Installs them as root on Debian and Ubuntu; otherwise says what is missing, in one line.
missing=""
[ -f /usr/include/cjson/cJSON.h ] || [ -n "$CJSON_DIR" ] || [ -f "$CONDA_PREFIX/include/cjson/cJSON.h" ] ||
	pkg-config --exists libcjson 2>/dev/null || missing="$missing libcjson-dev"
command -v dot >/dev/null || missing="$missing graphviz"
command -v cc >/dev/null || missing="$missing gcc"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null && exit 0
fi
echo "fastdispatch: please install these packages of your system, then try again:$missing" >&2
exit 1
