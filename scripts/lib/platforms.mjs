// The platforms that packages are made for, one row each. Builds, packages, the loader's list and the documentation use
// it.

/**
 * `tag` is part of the names of files and packages. `targets` are the Rust targets for the platform, the one of
 * releases first. `libc` is the value for npm. A cross build puts the addon, supervisor program and agent of a platform
 * into `dist/cross/TAG/`, with the names that they have in `native/build` and `dist`.
 */
export const PLATFORMS = [
  { tag: "linux-x64", os: "linux", cpu: "x64", libc: "glibc", targets: ["x86_64-unknown-linux-gnu"] },
  { tag: "linux-x64-musl", os: "linux", cpu: "x64", libc: "musl", targets: ["x86_64-unknown-linux-musl"] },
  { tag: "linux-arm64", os: "linux", cpu: "arm64", libc: "glibc", targets: ["aarch64-unknown-linux-gnu"] },
  { tag: "linux-arm64-musl", os: "linux", cpu: "arm64", libc: "musl", targets: ["aarch64-unknown-linux-musl"] },
  { tag: "darwin-x64", os: "darwin", cpu: "x64", targets: ["x86_64-apple-darwin"] },
  { tag: "darwin-arm64", os: "darwin", cpu: "arm64", targets: ["aarch64-apple-darwin"] },
  { tag: "win32-x64", os: "win32", cpu: "x64", targets: ["x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu"] },
];

/** The variants of the addon for a platform, the one that runs everywhere first; [""] if there is only one. */
export const variantsOf = ({ cpu }) => (cpu === "x64" ? ["baseline", "modern"] : [""]);

/** The file name of one of our programs on a platform. */
export const programOf = ({ os }, name) => (os === "win32" ? `${name}.exe` : name);

/** The file name of an addon. */
export const addonOf = ({ tag }, variant) => `sinew_natives.${tag}${variant ? `-${variant}` : ""}.node`;
