// Reasons why tests of shells and terminals are skipped on this system; false if they are not.
import { createRequire } from "node:module";
import { terminalLacks } from "./host.mjs";

const WINDOWS = process.platform === "win32";

export const noShell = WINDOWS && !(await findsBash()) && "no Git bash";
/** For tests of shells on Linux only: the second engine, signals, processes in /proc. */
export const notLinux = process.platform !== "linux" && "Linux only";
/** The command by which bash prints its working directory. */
export const printsFolder = WINDOWS ? "pwd -W" : "pwd";
/** The path of a folder as bash prints it. */
export const shownByBash = (folder) => folder.replaceAll("\\", "/");

export const noTerminal = terminalLacks() ?? false;

/** Tells whether the package finds a bash. That of Git for Windows need not be on PATH. */
async function findsBash() {
  const { executeShell } = createRequire(import.meta.url)("..");
  try {
    await executeShell({ command: ":" });
    return true;
  } catch (error) {
    if (!/no bash of version 3\.2/.test(error.message)) throw error;
    return false;
  }
}
