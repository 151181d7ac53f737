/**
 * Checks the header of an addon before the system maps it. Mapping a truncated file ends the process with SIGBUS, and
 * the system's error for a file of another platform does not name the cause.
 * @module
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** The platform and size in the header of a file. */
interface Head {
  /** `process.platform` and `process.arch`, joined by `-`; `?` replaces a value that Sinew does not support. */
  readonly tag: string;
  /** The minimum size of the file. */
  readonly size: number;
}

/**
 * Enough for the program headers, load commands and section tables of an addon; those of Sinew need less than 3 KiB.
 */
const HEAD_BYTES = 16384;

const ELF_MACHINES: Record<number, string> = { 62: "x64", 183: "arm64" };
const MACH_MACHINES: Record<number, string> = { 0x01000007: "x64", 0x0100000c: "arm64" };
const PE_MACHINES: Record<number, string> = { 0x8664: "x64", 0xaa64: "arm64" };

/**
 * Returns the reason why the file at `path` cannot be loaded for `tag`; undefined if there is none.
 * @throws If the file cannot be opened or read.
 * @internal
 */
export function binaryFault(path: string, tag: string): string | undefined {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    if (size === 0) return "the file is empty; install it again";
    const bytes = Buffer.alloc(Math.min(size, HEAD_BYTES));
    readSync(fd, bytes, 0, bytes.length, 0);
    const head = read(bytes, (at) => {
      const word = Buffer.alloc(4);
      return readSync(fd, word, 0, 4, at) === 4 ? word.readUInt32LE(0) : 0;
    });
    // If the header is longer than the bytes that were read, the system decides.
    if (head === "cut" && size > HEAD_BYTES) return undefined;
    if (head === "cut") return `truncated: its ${size} bytes do not contain the whole header; install it again`;
    if (!head) return "not a library of any known platform; install it again";
    // The header does not contain the C library.
    if (head.tag !== tag.replace(/-musl$/, "")) return `wrong platform: built for ${head.tag}, needed for ${tag}`;
    if (head.size > size) return `truncated: it has only ${size} of at least ${head.size} bytes; install it again`;
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Reads the 32-bit number at an offset of the file; 0 beyond its end. */
type Word = (at: number) => number;

function read(bytes: Buffer, word: Word): Head | "cut" | undefined {
  if (bytes.length < 64) return "cut";
  try {
    if (bytes.readUInt32BE(0) === 0x7f454c46) return elf(bytes);
    if (bytes.readUInt32LE(0) === 0xfeedfacf) return mach(bytes);
    if (bytes.readUInt16BE(0) === 0x4d5a) return pe(bytes, word);
  } catch (cause) {
    if (cause instanceof RangeError) return "cut";
    throw cause;
  }
  return undefined;
}

/** Reads a 64-bit little-endian ELF file: its segments, and the section table at its end. */
function elf(bytes: Buffer): Head | undefined {
  if (bytes[4] !== 2 || bytes[5] !== 1) return { tag: "linux-?", size: 0 };
  const arch = ELF_MACHINES[bytes.readUInt16LE(18)] ?? "?";
  const segments = Number(bytes.readBigUInt64LE(32));
  let size = Number(bytes.readBigUInt64LE(40)) + bytes.readUInt16LE(58) * bytes.readUInt16LE(60);
  for (let i = 0; i < bytes.readUInt16LE(56); i++) {
    const at = segments + i * bytes.readUInt16LE(54);
    size = Math.max(size, Number(bytes.readBigUInt64LE(at + 8) + bytes.readBigUInt64LE(at + 32)));
  }
  return { tag: `linux-${arch}`, size };
}

/** Reads a 64-bit Mach-O file: the extents of its segments. */
function mach(bytes: Buffer): Head {
  const SEGMENT_64 = 0x19;
  let size = 0;
  let at = 32;
  for (let i = 0; i < bytes.readUInt32LE(16); i++) {
    if (bytes.readUInt32LE(at) === SEGMENT_64) {
      size = Math.max(size, Number(bytes.readBigUInt64LE(at + 40) + bytes.readBigUInt64LE(at + 48)));
    }
    at += Math.max(8, bytes.readUInt32LE(at + 4));
  }
  return { tag: `darwin-${MACH_MACHINES[bytes.readUInt32LE(4)] ?? "?"}`, size };
}

/**
 * Reads a Windows library: the extents of its sections, and of the symbols and names after them if it is not stripped.
 */
function pe(bytes: Buffer, word: Word): Head | undefined {
  const at = bytes.readUInt32LE(60);
  if (bytes.readUInt32BE(at) !== 0x50450000) return undefined;
  const sections = at + 24 + bytes.readUInt16LE(at + 20);
  const symbols = bytes.readUInt32LE(at + 12);
  const names = symbols + bytes.readUInt32LE(at + 16) * 18;
  // The table of names begins with its length.
  let size = symbols ? names + Math.max(4, word(names)) : 0;
  for (let i = 0; i < bytes.readUInt16LE(at + 6); i++) {
    const section = sections + i * 40;
    size = Math.max(size, bytes.readUInt32LE(section + 16) + bytes.readUInt32LE(section + 20));
  }
  return { tag: `win32-${PE_MACHINES[bytes.readUInt16LE(at + 4)] ?? "?"}`, size };
}
