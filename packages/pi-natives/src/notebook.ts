/**
 * Converts notebooks to text.
 * @module
 */

interface Cell {
  cell_type?: unknown;
  source?: unknown;
}

const TYPES: readonly unknown[] = ["code", "markdown", "raw"];
/** Matches a line of a cell that would be read as the beginning of another cell, up to the place of another `%`. */
const MARKER = /^(# %%)(?=%* \[(?:code|markdown|raw)\](?: cell:\d+)?$)/gm;

function cellText(cell: Cell | null, at: number, displayPath: string): string {
  if (!TYPES.includes(cell?.cell_type)) throw new Error(`${displayPath} is not a notebook: the type of cell ${at} is not ${TYPES.join(", ")}`);
  const source = cell?.source;
  const text = Array.isArray(source) ? source.filter((part) => typeof part === "string").join("") : typeof source === "string" ? source : "";
  return `# %% [${String(cell?.cell_type)}] cell:${at}${text && "\n"}${text.replace(MARKER, "$1%")}`;
}

/**
 * Returns a Jupyter notebook as text: each cell follows a line `# %% [TYPE] cell:NUMBER`. Lines of a cell that look like
 * this one get another `%`.
 * @param json The content of the `.ipynb` file.
 * @param displayPath Its name, for error messages.
 * @throws Error if the text is not JSON, or has no list of cells, or a cell has an unknown type.
 */
export function notebookToEditableText(json: string, displayPath: string): string {
  let notebook: { cells?: unknown } | null;
  try {
    notebook = JSON.parse(json) as typeof notebook;
  } catch (cause) {
    throw new Error(`${displayPath} is not a notebook: the JSON is invalid`, { cause });
  }
  if (!Array.isArray(notebook?.cells)) throw new Error(`${displayPath} is not a notebook: the list "cells" is missing`);
  return (notebook.cells as (Cell | null)[]).map((cell, at) => cellText(cell, at, displayPath)).join("\n");
}
