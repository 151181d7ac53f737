/**
 * The clipboard of the terminal at the other end of the line.
 * @module
 */

/** The most that terminals take, in characters of base64; they cut or ignore more. */
const OSC52_LIMIT = 100_000;

/** The most that `screen` passes on in one piece. */
const SCREEN_PIECE = 700;

/**
 * The sequence by which a terminal sets its clipboard, wrapped for the multiplexer that it has to pass. Nothing when the
 * text is larger than terminals take.
 * @internal
 */
export function osc52(text: string, env: NodeJS.ProcessEnv): string | undefined {
  const data = Buffer.from(text, "utf8").toString("base64");
  if (data.length > OSC52_LIMIT) return undefined;
  const sequence = `\x1b]52;c;${data}\x07`;
  // tmux may take the sequence itself or pass it on, as it is set up; the terminal behind ignores a repetition.
  if (env["TMUX"]) return `${sequence}\x1bPtmux;${sequence.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
  if (env["STY"]) {
    let wrapped = "";
    for (let at = 0; at < sequence.length; at += SCREEN_PIECE) wrapped += `\x1bP${sequence.slice(at, at + SCREEN_PIECE)}\x1b\\`;
    return wrapped;
  }
  return sequence;
}
