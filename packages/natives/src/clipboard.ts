/**
 * The clipboard of the desktop, of Termux, and of the terminal.
 * @module
 */
import { called } from "./call.js";
import { native } from "./loader.js";
import type { DesktopClipboard } from "./native.js";
import { text as checkText } from "./options.js";
import { osc52 } from "./osc52.js";

/** An image from the clipboard. */
export interface ClipboardImage {
  /** The bytes of the file. */
  data: Uint8Array;
  /** Always PNG. */
  mimeType: "image/png";
}

const desktops = new Map<string, DesktopClipboard>();

/** Created once and kept until the process ends, because the desktop has no copy of the written text. */
function desktop(): DesktopClipboard {
  const display = process.env["DISPLAY"] ?? "";
  let clipboard = desktops.get(display);
  if (!clipboard) desktops.set(display, (clipboard = new native.DesktopClipboard(display)));
  return clipboard;
}

function termux(): boolean {
  return process.platform === "android" || Boolean(process.env["TERMUX_VERSION"]);
}

/** Writes to the terminal, if there is one. */
async function toTerminal(text: string): Promise<void> {
  const out = process.stdout;
  if (!out.isTTY || !out.writable || out.destroyed) return;
  const sequence = osc52(text, process.env);
  if (sequence === undefined) return;
  await new Promise<void>((done) => {
    // The terminal may close in the meantime, which would end the process without a listener.
    const lost = () => done();
    out.once("error", lost);
    out.write(sequence, (error) => {
      // A failed write is reported twice, the second time as an event.
      if (!error) out.removeListener("error", lost);
      done();
    });
  });
}

function toTermux(text: string): Promise<void> {
  // Loaded on demand, because it would add 3 ms to each start on all other systems.
  const { execFile } = require("node:child_process") as typeof import("node:child_process");
  return new Promise((done) => {
    const child = execFile("termux-clipboard-set", { timeout: 3000 }, () => done());
    child.stdin?.on("error", () => {});
    child.stdin?.end(text);
  });
}

/**
 * Copies text to every available clipboard: to the terminal's with OSC 52 if standard output is a terminal (through
 * tmux and screen, up to about 75 KB), and to Android's under Termux, otherwise to the desktop's. The text stays in the
 * desktop's clipboard while this process runs and no other program writes to it.
 *
 * @param text The text.
 * @returns A promise that never rejects.
 * @example
 * ```js
 * import { copyToClipboard } from "@sinew/natives";
 * await copyToClipboard("some text");
 * ```
 */
export async function copyToClipboard(text: string): Promise<void> {
  // An unavailable clipboard is not an error.
  const ignored = () => {};
  if (typeof text !== "string") return;
  await toTerminal(text).catch(ignored);
  if (termux()) await toTermux(text).catch(ignored);
  else await (async () => desktop().writeText(checkText("copyToClipboard: text", text)))().catch(ignored);
}

/**
 * Returns the text in the desktop's clipboard.
 *
 * @returns The text; `null` if there is none, on Termux, and on Linux without a display.
 * @throws If the display cannot be reached, or the program that owns the clipboard does not answer for 3 s.
 * @example
 * ```js
 * import { readTextFromClipboard } from "@sinew/natives";
 * const text = await readTextFromClipboard().catch(() => null);
 * console.log(text ?? "nothing to paste");
 * ```
 */
export async function readTextFromClipboard(): Promise<string | null> {
  return termux() ? null : ((await called(() => desktop().readText())) ?? null);
}

/**
 * Returns the image in the desktop's clipboard.
 *
 * @returns The image; `null` if there is none, on Termux, and on Linux without a display.
 * @throws Like `readTextFromClipboard`, and if the data is not an image.
 * @example
 * ```js
 * import { readImageFromClipboard } from "@sinew/natives";
 * const image = await readImageFromClipboard().catch(() => null);
 * console.log(image ? `${image.data.length} bytes of ${image.mimeType}` : "no picture");
 * ```
 */
export async function readImageFromClipboard(): Promise<ClipboardImage | null> {
  const data = termux() ? null : await called(() => desktop().readImage());
  return data ? { data, mimeType: "image/png" } : null;
}
