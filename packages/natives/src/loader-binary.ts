/**
 * Looks at the head of an addon before the system maps it: a file that was cut short ends the process with SIGBUS when it is
 * mapped, and one of another platform is refused with a message that does not say so.
 * @module
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** The platform and size that the head of a file states. */
interface Head {
  /** `process.platform` and `process.arch` joined by `-`; either is `?` where it is none of those that Sinew knows. */
  readonly tag: string;
  /** The size that the file must have at least. */
  readonly size: number;
}

/** Program headers, load commands and section tables of an addon fit; those of ours are under 3 KiB. */
const HEAD_BYTES = 16384;

const ELF_MACHINES: Record<number, string> = { 62: "x64", 183: "arm64" };
const MACH_MACHINES: Record<number, string> = { 0x01000007: "x64", 0x0100000c: "arm64" };
const PE_MACHINES: Record<number, string> = { 0x8664: "x64", 0xaa64: "arm64" };

/**
 * Returns the reason why the file at `path` cannot be loaded for `tag`, or nothing.
 * @throws When the file cannot be opened or read.
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
    // A head that goes on behind what was read is the system's to judge.
    if (head === "cut" && size > HEAD_BYTES) return undefined;
    if (head === "cut") return `truncated: its head is not whole in ${size} bytes; install it again`;
    if (!head) return "not a library of any known platform; install it again";
    // The head does not name the C library.
    if (head.tag !== tag.replace(/-musl$/, "")) return `wrong platform: built for ${head.tag}, needed for ${tag}`;
    if (head.size > size) return `truncated: it has ${size} of at least ${head.size} bytes; install it again`;
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Reads the 32-bit number at an offset of the file; 0 behind its end. */
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

/** A 64-bit little-endian ELF: segments, and the section table, which stands last. */
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

/** A 64-bit Mach-O: the extents of its segments. */
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

/** A Windows library: the extents of its sections, and of the symbols and their names that lie behind them until it is stripped. */
function pe(bytes: Buffer, word: Word): Head | undefined {
  const at = bytes.readUInt32LE(60);
  if (bytes.readUInt32BE(at) !== 0x50450000) return undefined;
  const sections = at + 24 + bytes.readUInt16LE(at + 20);
  const symbols = bytes.readUInt32LE(at + 12);
  const names = symbols + bytes.readUInt32LE(at + 16) * 18;
  // The names begin with their own length.
  let size = symbols ? names + Math.max(4, word(names)) : 0;
  for (let i = 0; i < bytes.readUInt16LE(at + 6); i++) {
    const section = sections + i * 40;
    size = Math.max(size, bytes.readUInt32LE(section + 16) + bytes.readUInt32LE(section + 20));
  }
  return { tag: `win32-${PE_MACHINES[bytes.readUInt16LE(at + 4)] ?? "?"}`, size };
}
