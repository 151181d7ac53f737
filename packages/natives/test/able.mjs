// What this system cannot do for tests of shells and terminals, in words; false where it can.
import { createRequire } from "node:module";
import { isThere } from "./host.mjs";

const WINDOWS = process.platform === "win32";

export const noShell = WINDOWS && !(await findsBash()) && "no Git bash";
export const noTerminal = WINDOWS && (process.env.WINEPREFIX ? "wine shows nothing of a ConPTY" : !isThere("sh") && "no program sh");

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
