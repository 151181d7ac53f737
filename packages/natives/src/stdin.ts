/**
 * The standard input of a command that is written while it runs.
 * @module
 */
import { native } from "./loader.js";
import type { Abort, ShellInput } from "./native.js";
import { bytes } from "./options.js";
import { TextJoiner } from "./text-joiner.js";

/**
 * The standard input of a command: whole, or pieces that are written one by one as the command takes them, such as a
 * `Readable`, a `ReadableStream`, an async generator or an array. A source that the command does not read to its end is closed
 * (`destroy()` or `return()`); one that throws ends the command, and the call rejects with that.
 */
export type StdinSource = string | Uint8Array | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

type Pieces = Exclude<StdinSource, string | Uint8Array>;
type Piece = string | Uint8Array;

const ENDED = Symbol("ended");

/** Tells a source that nobody takes any more of it. What it says to that is nobody's concern: the command is over. */
function release(source: Pieces, iterator: Iterator<Piece> | AsyncIterator<Piece>): void {
  const ignore = () => {};
  try {
    if ("destroy" in source && typeof source.destroy === "function") source.destroy();
    else Promise.resolve(iterator.return?.()).then(ignore, ignore);
  } catch {
    ignore();
  }
}

/**
 * Writes a source into the input of a command until `end()`, which rejects with what the source threw; that has ended the
 * command by `abort` then.
 * @internal
 */
export function feeding(where: string, source: Pieces, abort: Abort): { input: ShellInput; end(): Promise<void> } {
  const input = new native.ShellInput();
  const joiner = new TextJoiner();
  /** A piece as bytes: texts may be cut between the halves of a character. */
  const encode = (piece: Piece): Uint8Array => {
    if (typeof piece === "string") return Buffer.from(joiner.join(piece));
    const checked = bytes(`${where}: a piece`, piece);
    const left = joiner.end();
    return left ? Buffer.concat([Buffer.from(left), checked]) : checked;
  };
  let stop: (ended: typeof ENDED) => void = () => {};
  const ended = new Promise<typeof ENDED>((resolve) => (stop = resolve));
  const pump = async () => {
    const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    for (;;) {
      const next = Promise.resolve(iterator.next());
      const step = await Promise.race([next, ended]);
      if (step === ENDED) {
        // It may still come, or fail, when nobody waits for it.
        next.catch(() => {});
        return release(source, iterator);
      }
      const piece = step.done ? Buffer.from(joiner.end()) : encode(step.value);
      if (piece.length && !(await input.write(piece, abort))) return step.done ? undefined : release(source, iterator);
      if (step.done) return;
    }
  };
  const done = pump().then(
    () => undefined,
    (error: unknown) => {
      abort.abort();
      return { error };
    },
  );
  // The command reads to the end of its input as soon as the source is at its own.
  const closed = done.finally(() => input.end());
  return {
    input,
    async end() {
      stop(ENDED);
      input.end();
      const failed = await closed;
      input.release();
      if (failed) throw failed.error;
    },
  };
}
