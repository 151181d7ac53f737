/**
 * Converts notebooks to text.
 * @module
 */

interface Cell {
  cell_type?: unknown;
  source?: unknown;
}

/**
 * Returns a Jupyter notebook as text: each cell follows a line `# %% [TYPE] cell:NUMBER`.
 * @param json The content of the `.ipynb` file.
 * @param displayPath Its name, for error messages.
 * @throws Error if the text is not JSON, or has no list of cells.
 */
export function notebookToEditableText(json: string, displayPath: string): string {
  let notebook: { cells?: unknown };
  try {
    notebook = JSON.parse(json) as typeof notebook;
  } catch (cause) {
    throw new Error(`${displayPath} is not a notebook: the JSON is invalid`, { cause });
  }
  if (!Array.isArray(notebook?.cells)) throw new Error(`${displayPath} is not a notebook: the list "cells" is missing`);
  return (notebook.cells as Cell[]).map(({ cell_type, source }, at) => {
    const text = Array.isArray(source) ? source.join("") : typeof source === "string" ? source : "";
    return `# %% [${String(cell_type)}] cell:${at}${text && "\n"}${text}`;
  }).join("\n");
}
