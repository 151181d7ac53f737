// Reads what a Linux binary requires of the system: the processor, the newest glibc version, static TLS.
import { readFileSync } from "node:fs";

const MACHINES = { 62: "x64", 183: "arm64" };
const SECTION = { dynamic: 6, versionsNeeded: 0x6ffffffe };
const TAG = { needed: 1, flags: 30 };
/**
 * Set if a library needs space in the TLS block that is allocated when the process starts, so that loading it later may
 * fail.
 */
const STATIC_TLS = 0x10;

/** Orders "2.9" before "2.28". */
export function compareVersions(a, b) {
  const [x, y] = [a, b].map((version) => version.split(".").map(Number));
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0);
    if (difference) return difference;
  }
  return 0;
}

/**
 * @returns `{ arch, glibc, needed, staticTls }`; `glibc` is the newest version that a symbol requires, or undefined.
 */
export function readElf(path) {
  const bytes = readFileSync(path);
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46) throw new Error(`${path} is not an ELF file`);
  if (bytes[4] !== 2 || bytes[5] !== 1) throw new Error(`${path} is not a 64-bit little-endian ELF file`);
  const sections = sectionsOf(bytes);
  const text = (table, at) => {
    const from = sections[table].offset + at;
    return bytes.toString("latin1", from, bytes.indexOf(0, from));
  };
  const facts = { arch: MACHINES[bytes.readUInt16LE(18)], glibc: undefined, needed: [], staticTls: false };
  for (const { type, offset, size, link, info } of sections) {
    if (type === SECTION.dynamic) {
      for (let at = offset; at < offset + size; at += 16) {
        const [tag, value] = [Number(bytes.readBigInt64LE(at)), Number(bytes.readBigUInt64LE(at + 8))];
        if (tag === TAG.needed) facts.needed.push(text(link, value));
        if (tag === TAG.flags) facts.staticTls = (value & STATIC_TLS) !== 0;
      }
    }
    if (type === SECTION.versionsNeeded) {
      for (const name of versionNames(bytes, offset, info, (at) => text(link, at))) {
        const version = /^GLIBC_(\d[\d.]*)$/.exec(name)?.[1];
        if (version && (!facts.glibc || compareVersions(version, facts.glibc) > 0)) facts.glibc = version;
      }
    }
  }
  return facts;
}

function sectionsOf(bytes) {
  const [start, size, count] = [Number(bytes.readBigUInt64LE(40)), bytes.readUInt16LE(58), bytes.readUInt16LE(60)];
  return Array.from({ length: count }, (_, i) => {
    const at = start + i * size;
    return {
      type: bytes.readUInt32LE(at + 4),
      offset: Number(bytes.readBigUInt64LE(at + 24)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
      link: bytes.readUInt32LE(at + 40),
      info: bytes.readUInt32LE(at + 44),
    };
  });
}

/** The list has one entry per library, each with a list of versions; both are chains of relative offsets. */
function* versionNames(bytes, start, libraries, text) {
  let library = start;
  for (let i = 0; i < libraries; i++) {
    let version = library + bytes.readUInt32LE(library + 8);
    for (let j = 0; j < bytes.readUInt16LE(library + 2); j++) {
      yield text(bytes.readUInt32LE(version + 8));
      version += bytes.readUInt32LE(version + 12);
    }
    library += bytes.readUInt32LE(library + 12);
  }
}
