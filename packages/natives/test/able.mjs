// What this system cannot do for tests of shells and terminals, in words; false where it can.
import { createRequire } from "node:module";
import { terminalLacks } from "./host.mjs";

const WINDOWS = process.platform === "win32";

export const noShell = WINDOWS && !(await findsBash()) && "no Git bash";
/** Tests of what only the shells of Linux do: another engine, signals, processes that /proc shows. */
export const notLinux = process.platform !== "linux" && "Linux only";
/** The folder that bash calls `pwd`, as it prints it. */
export const printsFolder = WINDOWS ? "pwd -W" : "pwd";
/** The same folder as this system writes it and as bash prints it. */
export const shownByBash = (folder) => folder.replaceAll("\\", "/");

export const noTerminal = terminalLacks() ?? false;

/** Tells whether the package finds a bash: that of Git for Windows need not lie on PATH. */
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
