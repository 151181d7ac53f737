/**
 * Names the platform of this process as the packages do, and every platform that a release has an addon for.
 * @module
 */
import { closeSync, openSync, readSync } from "node:fs";

/** The tags of all platform packages. A test holds them equal to the scripts' table. @internal */
export const SUPPORTED: readonly string[] = [
  "linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl", "darwin-x64", "darwin-arm64", "win32-x64",
];

/** An ELF head, its program headers and the name of its interpreter fit. */
const HEAD_BYTES = 4096;
const INTERPRETER = 3;
const UNKNOWN = "of unknown version";

/** The tag of this process: `process.platform` and `process.arch`, and `musl` where that is the C library. @internal */
export function platformTag(): string {
  const tag = `${process.platform}-${process.arch}`;
  return process.platform === "linux" && isMusl() ? `${tag}-musl` : tag;
}

/** The C library of this process in words, for errors: a report takes milliseconds. @internal */
export function libc(): string {
  if (process.platform !== "linux") return "";
  return isMusl() ? " (musl)" : ` (glibc ${glibcVersion() ?? UNKNOWN})`;
}

/** The loader that the running program asks for tells its C library; where it names none, the runtime's report does. */
function isMusl(): boolean {
  const name = interpreter(process.execPath);
  return name === undefined ? glibcVersion() === undefined : /\/ld-musl[^/]*$/.test(name);
}

/** The path of the dynamic loader that an ELF program asks for; undefined for any other file. */
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
    // A program that was replaced while it runs, or whose headers lie elsewhere.
  }
  return undefined;
}

/** The version of glibc as the runtime reports it; undefined without glibc. */
function glibcVersion(): string | undefined {
  try {
    return reportedVersion();
  } catch {
    // Deno refuses a report without `--allow-sys`.
    return UNKNOWN;
  }
}

function reportedVersion(): string | undefined {
  const report = process.report;
  // Without this a report looks up the name of every open connection.
  const before = (report as { excludeNetwork?: boolean }).excludeNetwork;
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork: before });
  return header?.glibcVersionRuntime;
}
