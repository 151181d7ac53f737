#!/bin/bash
# Links for musl: usage: packed.sh ARGUMENT..., as rustc calls a compiler; ZIG_TARGET names the system for zig.
# Relocations are packed, which zig's linker can and its compiler driver refuses: so what the driver does is done once more.
# musl takes them since 1.2.4; they save a megabyte of a program.
set -eo pipefail
said=$(ZIG_VERBOSE_LINK=1 cargo-zigbuild zig cc -- -fno-sanitize=all -target "$ZIG_TARGET" "$@" 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
read -ra words < <(grep '^ld\.lld ' <<<"$said")
exec python-zig ld.lld --pack-dyn-relocs=relr "${words[@]:1}"
