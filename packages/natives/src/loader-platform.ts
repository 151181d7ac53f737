/**
 * The platform tag of this process, and the tags of all platforms with an addon.
 * @module
 */
import { closeSync, openSync, readSync } from "node:fs";

/** The tags of all platform packages. A test checks that they equal the table of the scripts. @internal */
export const SUPPORTED: readonly string[] = [
  "linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl", "darwin-x64", "darwin-arm64", "win32-x64",
];

/** Enough for an ELF header, its program headers and the name of its interpreter. */
const HEAD_BYTES = 4096;
const INTERPRETER = 3;
const UNKNOWN = "of unknown version";

/**
 * Returns the tag of this process: `process.platform` and `process.arch`, and `musl` if that is its C library.
 * @internal
 */
export function platformTag(): string {
  const tag = `${process.platform}-${process.arch}`;
  return process.platform === "linux" && isMusl() ? `${tag}-musl` : tag;
}

/**
 * Describes the C library of this process for errors. Only used for them, because a report takes milliseconds.
 * @internal
 */
export function libc(): string {
  if (process.platform !== "linux") return "";
  return isMusl() ? " (musl)" : ` (glibc ${glibcVersion() ?? UNKNOWN})`;
}

/** Detects musl by the dynamic loader of the running program or, if it has none, by the runtime's report. */
function isMusl(): boolean {
  const name = interpreter(process.execPath);
  return name === undefined ? glibcVersion() === undefined : /\/ld-musl[^/]*$/.test(name);
}

/** Returns the path of the dynamic loader of an ELF program; undefined for any other file. */
function interpreter(path: string): string | undefined {
  const bytes = Buffer.alloc(HEAD_BYTES);
  try {
    const fd = openSync(path, "r");
    try {
      readSync(fd, bytes, 0, bytes.length, 0);
    } finally {
      closeSync(fd);
    }
    if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2 || bytes[5] !== 1) return undefined;
    const headers = Number(bytes.readBigUInt64LE(32));
    for (let i = 0; i < bytes.readUInt16LE(56); i++) {
      const at = headers + i * bytes.readUInt16LE(54);
      if (bytes.readUInt32LE(at) !== INTERPRETER) continue;
      const from = Number(bytes.readBigUInt64LE(at + 8));
      const end = from + Number(bytes.readBigUInt64LE(at + 32));
      return end <= bytes.length ? bytes.toString("latin1", from, end - 1) : undefined;
    }
  } catch {
    // The program was replaced while it runs, or its headers are elsewhere.
  }
  return undefined;
}

/** Returns the version of glibc from the runtime's report; undefined without glibc. */
function glibcVersion(): string | undefined {
  try {
    return reportedVersion();
  } catch {
    // Deno does not allow reports without `--allow-sys`.
    return UNKNOWN;
  }
}

function reportedVersion(): string | undefined {
  const report = process.report;
  // Without this, a report resolves the host name of every open connection.
  const before = (report as { excludeNetwork?: boolean }).excludeNetwork;
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork: before });
  return header?.glibcVersionRuntime;
}
