/**
 * The clipboard of the terminal.
 * @module
 */

/** The maximum number of base64 characters that terminals accept; they cut or ignore longer texts. */
const OSC52_LIMIT = 100_000;

/** The maximum length that `screen` passes on in one piece. */
const SCREEN_PIECE = 700;

/**
 * Returns the sequence that sets the clipboard of a terminal, wrapped for the multiplexer in between. Empty if the text
 * is too large for terminals.
 * @internal
 */
export function osc52(text: string, env: NodeJS.ProcessEnv): string | undefined {
  const data = Buffer.from(text, "utf8").toString("base64");
  if (data.length > OSC52_LIMIT) return undefined;
  const sequence = `\x1b]52;c;${data}\x07`;
  // Depending on its settings, tmux handles the sequence or passes it on. The terminal ignores a repetition.
  if (env["TMUX"]) return `${sequence}\x1bPtmux;${sequence.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
  if (env["STY"]) {
    let wrapped = "";
    for (let at = 0; at < sequence.length; at += SCREEN_PIECE) wrapped += `\x1bP${sequence.slice(at, at + SCREEN_PIECE)}\x1b\\`;
    return wrapped;
  }
  return sequence;
}
