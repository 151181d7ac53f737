/**
 * The standard input of a running command.
 * @module
 */
import { native } from "./loader.js";
import type { Abort, ShellInput } from "./native.js";
import { bytes } from "./options.js";
import { TextJoiner } from "./text-joiner.js";

/**
 * The standard input of a command: a complete value, or pieces that are written as the command reads them, such as a
 * `Readable`, a `ReadableStream`, an async generator or an array. If the command does not read a source to its end, the
 * source is closed (`destroy()` or `return()`). If a source throws, the command is stopped and the call rejects with
 * that error.
 */
export type StdinSource = string | Uint8Array | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

type Pieces = Exclude<StdinSource, string | Uint8Array>;
type Piece = string | Uint8Array;

const ENDED = Symbol("ended");

/** Closes a source that is not read any more. Errors are ignored, because the command has ended. */
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
 * Writes a source to the input of a command until `end()` is called. If the source throws, `abort` stops the command
 * and `end()` rejects with that error.
 * @internal
 */
export function feeding(where: string, source: Pieces, abort: Abort): { input: ShellInput; end(): Promise<void> } {
  const input = new native.ShellInput();
  const joiner = new TextJoiner();
  /** Encodes a piece. Texts may be split inside a surrogate pair. */
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
        // It may still resolve or fail when nothing awaits it.
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
  // The input of the command ends as soon as the source ends.
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
