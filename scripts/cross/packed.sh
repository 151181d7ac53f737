#!/bin/bash
# Links for musl: usage: packed.sh ARGUMENT..., as rustc calls a compiler; ZIG_TARGET names the system for zig.
# Packs relocations, which zig's linker supports but its compiler driver refuses. So this repeats the driver's link
# command with the option added. musl supports packed relocations since 1.2.4; they make a program a megabyte smaller.
set -eo pipefail
said=$(ZIG_VERBOSE_LINK=1 cargo-zigbuild zig cc -- -fno-sanitize=all -target "$ZIG_TARGET" "$@" 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
read -ra words < <(grep '^ld\.lld ' <<<"$said")
exec python-zig ld.lld --pack-dyn-relocs=relr "${words[@]:1}"
