/**
 * Compares two texts.
 * @module
 */
import { type CallOptions, underSignal } from "./call.js";
import { native } from "./loader.js";
import { type Table, options as check, text } from "./options.js";

/** The options of `diff`. */
export interface DiffOptions extends CallOptions {
  /**
   * The pieces that are compared: lines with their ends, or words, where punctuation, line ends and runs of blanks are pieces of
   * their own (`a.b` has three). Default: `"line"`.
   */
  unit?: "line" | "word" | undefined;
}

/** The options of `unifiedDiff`. */
export interface UnifiedDiffOptions extends CallOptions {
  /** The name of the old file, after `---`; git writes `a/src/x.ts`. Default: `"a"`. */
  oldName?: string | undefined;
  /** The name of the new file, after `+++`. Default: `"b"`. */
  newName?: string | undefined;
  /** Number of unchanged lines around each change. With 0, a tool may apply the change at another, equal line. Default: 3. */
  context?: number | undefined;
}

/** A part of the texts that is in both or in only one of them. */
export interface DiffChange {
  /** The texts that contain it: both, only the old one, or only the new one. */
  kind: "equal" | "removed" | "added";
  /** The text of this part, never empty. */
  text: string;
}

const DIFF: Table = { unit: ["line", "word"], timeoutMs: "u32", signal: "signal" };
const UNIFIED: Table = { oldName: "string", newName: "string", context: "u32", timeoutMs: "u32", signal: "signal" };

/** The changes of an answer: a kind and a length of each. */
function changesOf(answer: Uint32Array, before: string, after: string): DiffChange[] {
  const changes: DiffChange[] = [];
  let old = 0;
  let now = 0;
  for (let at = 0; at < answer.length; at += 2) {
    const kind = (["equal", "removed", "added"] as const)[answer[at] as 0 | 1 | 2];
    const length = answer[at + 1] as number;
    changes.push({ kind, text: kind === "removed" ? before.slice(old, old + length) : after.slice(now, now + length) });
    if (kind !== "added") old += length;
    if (kind !== "removed") now += length;
  }
  return changes;
}

/**
 * Compares two texts by lines or words. Join every change except `"added"` to get the old text; join every change except `"removed"` to get
 * the new one. A removed part comes before its replacement.
 *
 * The result is the shortest difference (Myers) if that is found within 500 ms. Texts that differ in ten thousands of places get a longer, but
 * still correct one. A signal and a time limit are checked before, after and while the texts are split. The event loop is not blocked.
 *
 * @param before The old text. A lone surrogate equals every other one.
 * @param after The new text.
 * @param options The unit, time limit and signal.
 * @returns The changes in the order of the texts; one `"equal"` for equal texts, none for empty ones.
 * @throws `TypeError` for an argument of the wrong type; `ERR_OUT_OF_RANGE` for a text of more than 4,000,000 lines or words;
 *   `AbortError` or `TimeoutError` if the call was stopped.
 * @example
 * ```js
 * import { diff } from "@sinew/natives";
 * const changes = await diff("const a = 1;", "const b = 1;", { unit: "word" });
 * changes.map(({ kind, text }) => ({ equal: "", removed: "-", added: "+" })[kind] + text); // ["const ", "-a", "+b", " = 1;"]
 * ```
 */
export async function diff(before: string, after: string, options: DiffOptions | null = {}): Promise<DiffChange[]> {
  const old = text("diff: before", before);
  const now = text("diff: after", after);
  const { signal, ...rest } = check("diff", DIFF, options ?? {});
  return changesOf(await underSignal(signal, (abort) => native.diff(old, now, rest, abort)), old, now);
}

/**
 * Returns the difference of two texts as a unified diff for `patch` and `git apply`.
 *
 * Lines end with `\n` only. A `\r` before it belongs to the line, so a changed line end is a change. File names are quoted like in git, if
 * necessary. For time and cancellation see {@link diff}.
 *
 * @param before The old text. A lone surrogate is written as U+FFFD.
 * @param after The new text.
 * @param options File names, number of context lines, time limit and signal.
 * @returns The diff; `""` for equal texts.
 * @throws Like {@link diff}.
 * @example
 * ```js
 * import { unifiedDiff } from "@sinew/natives";
 * const patch = await unifiedDiff("one\ntwo\n", "one\n2\n");
 * patch.split("\n").slice(3, 6); // [" one", "-two", "+2"]
 * ```
 */
export async function unifiedDiff(before: string, after: string, options: UnifiedDiffOptions | null = {}): Promise<string> {
  const old = text("unifiedDiff: before", before);
  const now = text("unifiedDiff: after", after);
  const { signal, ...rest } = check("unifiedDiff", UNIFIED, options ?? {});
  return underSignal(signal, (abort) => native.unifiedDiff(old, now, rest, abort));
}
