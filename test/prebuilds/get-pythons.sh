#!/usr/bin/env bash
# Builds a Python for musl on x64 and arm64, which neither PyPI nor Debian has, into the folder that get-nodes.sh filled:
# CPython and zlib from Debian's sources, by the compiler of the addons. It has what pip needs, and neither TLS nor
# ctypes. Needs deb.debian.org, Python 3.13, make, and zig (`npm run prebuild` installs it); minutes.
#
#   test/prebuilds/get-pythons.sh DIRECTORY
set -euo pipefail

root=$(realpath -m "$1")
zig=${ZIG:-$(echo "$(dirname "$(realpath "$0")")"/../../native/build-zig/zig-*/lib/python3*/site-packages/ziglang/zig)}
own=$(command -v python3.13)
work=$root/pythons
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
cd "$work"

echo 'deb-src http://deb.debian.org/debian trixie main' >sources.list
options=(-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o "Dir::Etc::SourceList=$work/sources.list"
  -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root)
apt-get -qq "${options[@]}" update
apt-get -qq "${options[@]}" --tar-only source python3.13 zlib
for archive in ./*.orig.tar.?z; do tar -xf "$archive"; done
sources=("$work"/Python-3.13.*/ "$work"/zlib-*/)

# TARGET PROCESSOR
get_python() {
  local build=$work/$1 to=$root/$1/root/usr/local
  mkdir -p "$build" "$to/bin" "$to/lib"
  cd "$build"
  # Position-independent, and with the loader that pip knows musl by: zig's programs for musl are static by themselves.
  printf '#!/bin/sh\nexec "%s" cc -target %s -fPIC -Wno-date-time "$@"\n' "$zig" "$2-linux-musl" >cc
  printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >ar
  chmod +x cc ar
  for name in adler32 crc32 inffast inflate inftrees zutil deflate trees; do
    ./cc -O2 -c "${sources[1]}$name.c" -o "$name.o"
  done
  ./ar rcs libz.a ./*.o
  local absent=() module
  for module in _bz2 _ctypes _curses _curses_panel _dbm _gdbm _hashlib _lzma _sqlite3 _ssl _tkinter _uuid nis readline; do
    absent+=("py_cv_module_$module=n/a")
  done
  CC=$build/cc AR=$build/ar RANLIB=true CFLAGS=-O1 PKG_CONFIG=false ZLIB_CFLAGS=-I${sources[1]} ZLIB_LIBS=$build/libz.a \
    "${sources[0]}configure" --build=x86_64-linux-gnu --host="$2-linux-musl" --prefix=/usr/local \
    --with-build-python="$own" --disable-ipv6 --disable-test-modules --without-ensurepip --without-doc-strings \
    MODULE_BUILDTYPE=static ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no "${absent[@]}" >configure.log 2>&1
  # The libraries of the Python that builds are its own: its version may end in another number.
  sed -i 's| PYTHONPATH=\$(srcdir)/Lib||' Makefile
  make -j"$(nproc)" python pybuilddir.txt LINKFORSHARED= LDFLAGS='-dynamic -pie' >make.log 2>&1
  cp python "$to/bin/python3.13"
  cp -r "${sources[0]}Lib" "$to/lib/python3.13"
  rm -r "$to/lib/python3.13/test"
  mkdir "$to/lib/python3.13/lib-dynload"
  cp build/lib.*/_sysconfigdata_* "$to/lib/python3.13/"
}

get_python linux-x64-musl x86_64
get_python linux-arm64-musl aarch64
