/**
 * The change of one file, before any file is read.
 * @module
 */

/** An edit that cannot be made; the message is for the model. */
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
  /** Texts that the change adds, for rules that look at them. */
  added: string;
  /** Makes the change in the current text, whose lines end with line feeds. */
  apply(text: string, context: ChangeContext): string;
}

/** The context in which a change is applied. */
export interface ChangeContext {
  /** Finds a text that differs a little. */
  fuzzy: boolean;
  /** The text of the version that the change was written for; the current text if that is it. */
  base: string;
  /** The lines that the model has seen; undefined if all may be changed. */
  seen: ReadonlySet<number> | undefined;
  /** Texts that were cut, by name. */
  registers: Map<string, string[]>;
}

/** The lines of a text without the empty one after the last line end. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A text of lines; it ends with a line feed if `like` does, or is empty. */
export function textOf(lines: readonly string[], like: string): string {
  return lines.join("\n") + (lines.length > 0 && (like === "" || like.endsWith("\n")) ? "\n" : "");
}
