/**
 * The change of one file, parsed before any file is read.
 * @module
 */

/** The error of an edit that cannot be applied, with a message for the model. */
export class EditError extends Error {}

/** The change of one file. */
export interface Change {
  /** The path as the model wrote it. */
  path: string;
  op: "create" | "update" | "delete";
  /** The path to which the file moves. */
  moveTo?: string;
  /** The version that the change was written for. */
  tag?: string;
  /** The lines that the change adds, for rules that check them. */
  added: string[];
  /** Applies the change to the current text, whose lines end with line feeds. */
  apply(text: string, context: ChangeContext): string;
}

/** The context in which a change is applied. */
export interface ChangeContext {
  /** True if similar texts match. */
  fuzzy: boolean;
  /** The text of the version that the change was written for, which may be the current text. */
  base: string;
  /** The lines that the model has seen; undefined if all may be changed. */
  seen: ReadonlySet<number> | undefined;
  /** Cut texts, by name. */
  registers: Map<string, string[]>;
}

/** Returns the lines of a text, without the empty one after the last line end. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Joins lines to a text, which ends with a line feed if `like` does or is empty. */
export function textOf(lines: readonly string[], like: string): string {
  return lines.join("\n") + (lines.length > 0 && (like === "" || like.endsWith("\n")) ? "\n" : "");
}
