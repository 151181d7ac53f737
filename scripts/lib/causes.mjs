// Explains why a tool failed: what cargo, npm and apt print for the usual causes on a new machine, and how to fix each.

/** Patterns of tool output, each with the sentence to show instead. */
const CAUSES = [
  [/No space left on device|ENOSPC|os error 28/i, "the disk is full: free some space (a build needs about 3 GB, npm test about 10 GB), or set CARGO_TARGET_DIR to a folder on another disk"],
  [/Read-only file system|EROFS|os error 30/i, "a folder that must be written to is read-only: set CARGO_HOME, npm_config_cache and SINEW_CACHE to folders that you can write to"],
  [/Permission denied|EACCES|os error 13/i, "a folder that must be written to belongs to another user: set CARGO_HOME, npm_config_cache and SINEW_CACHE to folders that you can write to"],
  [/linker `?(cc|gcc|clang)`? not found|failed to find tool "?(cc|gcc|clang)|is `?cc`? installed/i, "there is no C compiler: install one (on Debian: apt-get install build-essential, on macOS: xcode-select --install)"],
  [/requires rustc \d|cannot be built because it requires rustc|rustc \S+ is not supported by the following/i, "Rust is too old: run rustup update stable"],
  [
    /Could not resolve host|Couldn't resolve host|failed to download|spurious network error|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|network is unreachable|Temporary failure resolving/i,
    "a download failed: check the network or the proxy (HTTPS_PROXY), and try again; what was downloaded is kept",
  ],
  [/Cannot allocate memory|signal: 9, SIGKILL|ENOMEM/i, "the machine ran out of memory: close other programs, or set CARGO_BUILD_JOBS=1"],
];

/** The first known cause in some lines of output; undefined if there is none. */
export function causeOf(lines) {
  const text = typeof lines === "string" ? lines : lines.join("\n");
  return CAUSES.find(([pattern]) => pattern.test(text))?.[1];
}

/** `message`, followed by the cause if the output shows one. */
export function explained(message, lines) {
  const cause = causeOf(lines);
  return cause ? `${message}: ${cause}` : message;
}
