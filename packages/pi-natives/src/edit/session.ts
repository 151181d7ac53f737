/**
 * One call of the edit tool.
 * @module
 */
import { isAbsolute, relative } from "node:path";
import { editDiffString, structuredPatchHunks } from "../diffs.js";
import { EditError } from "./change.js";
import { hashlineFormatHeader } from "./hashline.js";
import { type PlannedFile, parseChanges, planChanges } from "./plan.js";
import type { EditStore } from "./store.js";
import type { EditApplyOutcome, EditApplyRequest, EditFileOutcome, EditFilePreview, EditPolicy, EditPreviewBatch, EditWriteRequest, EditWriteResponse } from "./types.js";

/** The maximum length of the texts in an outcome, in characters. */
const LONGEST = 32_768;
/** The number of lines of the new text that are shown around a change. */
const AROUND = 2;

/** Returns the lines of the new text around the changes, with their numbers. */
function changedRows(oldText: string, newText: string): { rows: string; seen: number[] } {
  const blocks = structuredPatchHunks(oldText.replaceAll("\r\n", "\n"), newText.replaceAll("\r\n", "\n"), AROUND).map(({ newStart, lines }) =>
    lines.filter((line) => /^[ +]/.test(line)).map((line, at) => ({ number: newStart + at, text: line.slice(1) })));
  return { rows: blocks.map((block) => block.map(({ number, text }) => `${number}:${text}`).join("\n")).filter(Boolean).join("\n…\n"), seen: blocks.flat().map(({ number }) => number) };
}

/** Receives the arguments of an edit, shows the changes, and applies them. */
export class EditSession {
  readonly #store: EditStore;
  readonly #policy: EditPolicy;
  readonly #onPreview: ((error: Error | null, batch: EditPreviewBatch) => void) | null | undefined;
  #args = "";
  #generation = 0;
  #closed = false;

  constructor(store: EditStore, policy: EditPolicy, onPreview?: ((error: Error | null, batch: EditPreviewBatch) => void) | null) {
    this.#store = store;
    this.#policy = policy;
    this.#onPreview = onPreview;
  }

  /** Adds a piece of the arguments. */
  push(delta: string): void {
    this.#args += delta;
    this.#generation += 1;
  }

  /** Sets the arguments as JSON. */
  setArgsJson(argsJson: string): void {
    this.#args = argsJson;
    this.#generation += 1;
  }

  /** Ends the arguments and shows the changes, for the first time. */
  finish(): void {
    this.#generation += 1;
    const generation = this.#generation;
    if (this.#onPreview) setImmediate(() => this.#closed || this.#onPreview?.(null, { generation, streaming: false, files: this.#preview() }));
  }

  /**
   * Writes the changes with `writer`. If one cannot be applied, nothing is written, and the outcome contains the
   * reason.
   */
  async apply({ lspBatchId, lspFlush }: EditApplyRequest, writer: (error: Error | null, request: EditWriteRequest) => Promise<EditWriteResponse>): Promise<EditApplyOutcome> {
    const outcomes: EditFileOutcome[] = [];
    try {
      const files = this.#plan();
      for (const [at, file] of files.entries()) {
        const op = file.moveTo === undefined ? file.op : "move";
        const request: EditWriteRequest = {
          path: file.path, displayPath: file.displayPath, op, flushLsp: lspFlush && at === files.length - 1, ...(file.moveTo === undefined ? {} : { moveTo: file.moveTo }),
          ...(file.op === "delete" ? {} : { content: file.newText }), ...(lspBatchId === undefined ? {} : { lspBatchId }),
        };
        outcomes.push(this.#outcome(file, await writer(null, request)));
      }
    } catch (error) {
      const done = outcomes.length ? `\nWritten before: ${outcomes.map(({ displayPath }) => displayPath).join(", ")}` : "";
      return { text: (error as Error).message + done, files: outcomes, isError: true };
    }
    return { text: outcomes.map(({ text }) => text).join("\n\n"), files: outcomes, isError: false };
  }

  /** Closes the session; nothing is shown any more. */
  close(): void {
    this.#closed = true;
    this.#args = "";
  }

  #plan(): PlannedFile[] {
    const { mode, rawInput } = this.#policy;
    const args = rawInput ? JSON.stringify({ input: this.#args }) : this.#args;
    return planChanges(parseChanges(mode, args), this.#policy, this.#store);
  }

  #preview(): EditFilePreview[] {
    const registers = new Map(this.#store.registers);
    try {
      return this.#plan().map(({ displayPath, op, oldText, newText, moveTo }) => ({ path: displayPath, op, ...editDiffString(oldText, newText), ...(moveTo === undefined ? {} : { rename: moveTo }) }));
    } catch (error) {
      const message = error instanceof EditError ? error.message : `The edit cannot be read: ${(error as Error).message}`;
      return [{ path: "", error: message }];
    } finally {
      this.#store.registers.clear();
      for (const [name, lines] of registers) this.#store.registers.set(name, lines);
    }
  }

  #outcome(file: PlannedFile, { written, diagnosticsJson }: EditWriteResponse): EditFileOutcome {
    const { path, displayPath, op, moveTo, oldText } = file;
    const newText = op === "delete" ? "" : written;
    const { diff, firstChangedLine } = editDiffString(oldText, newText);
    const pruned = oldText.length + newText.length > LONGEST;
    const at = moveTo ?? path;
    const below = relative(this.#policy.cwd, at);
    const shown = moveTo === undefined ? displayPath : below.startsWith("..") || isAbsolute(below) ? at : below;
    const texts = pruned ? {} : { ...(op === "create" ? {} : { oldText }), ...(op === "delete" ? {} : { newText }) };
    return {
      path, displayPath, op, diff, snapshotsPruned: pruned, warnings: [], parseRegressed: false, text: this.#answer(file, shown, newText), ...texts,
      ...(moveTo === undefined ? {} : { moveTo }), ...(firstChangedLine === undefined ? {} : { firstChangedLine }), ...(diagnosticsJson === undefined ? {} : { diagnosticsJson }),
    };
  }

  /** Returns the text for the model: the header with the new tag, and the lines around the changes. */
  #answer({ path, op, moveTo, oldText }: PlannedFile, shown: string, newText: string): string {
    if (op === "delete") {
      this.#store.invalidate(path);
      return `Deleted ${shown}`;
    }
    if (moveTo !== undefined) this.#store.relocate(path, moveTo);
    const { rows, seen } = changedRows(oldText, newText);
    const tag = this.#store.recordSnapshot(moveTo ?? path, newText, seen);
    const header = this.#policy.mode === "hashline" ? hashlineFormatHeader(shown, tag) : `[${shown}]`;
    return [header, ...(moveTo === undefined ? [] : [`Moved to ${shown}`]), ...(rows ? [rows] : [])].join("\n");
  }
}
