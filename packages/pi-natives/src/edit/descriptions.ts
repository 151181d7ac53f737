/**
 * Descriptions of the edit tool for the model.
 * @module
 */

/** The modes of the edit tool. */
export const EDIT_MODES = ["replace", "patch", "apply_patch", "hashline", "sloppy"] as const;

const DESCRIPTIONS: Record<(typeof EDIT_MODES)[number], string> = {
  replace: `Replaces text in a file.

- \`old_string\` is copied exactly from the file, with its indentation, and is there once. Add lines around it if it is not unique.
- \`new_string\` is the text that replaces it. Indent it as the file is indented.
- \`replace_all\` replaces every occurrence, for example of a name.
- Read the file before you edit it.`,
  patch: `Changes one file. \`path\` is the file, and \`edits\` a list of changes:

- \`{"op": "update", "diff": HUNKS}\` changes the file. A hunk starts with \`@@\`, which may be followed by a line that is above the change. Then come lines that start with a blank (unchanged), \`-\` (removed) or \`+\` (added). Copy unchanged and removed lines exactly.
- \`{"op": "update", "rename": PATH, "diff": HUNKS}\` also moves it.
- \`{"op": "create", "diff": TEXT}\` creates it. The text has no \`+\` in front of its lines.
- \`{"op": "delete"}\` deletes it.

Give three unchanged lines above and below a change, or fewer if they are unique.`,
  apply_patch: `Applies a patch to several files. \`input\` is the patch:

\`\`\`
*** Begin Patch
*** Update File: src/a.ts
@@ function greet() {
-  return "hi";
+  return "hello";
*** Add File: src/b.ts
+export {};
*** Delete File: src/c.ts
*** End Patch
\`\`\`

\`*** Move to: PATH\` after an \`Update File\` line moves the file. Copy unchanged and removed lines exactly. All files are changed, or none.`,
  hashline: `Changes lines of files by their numbers. \`input\` has, for each file, its header \`[PATH#TAG]\` from the last read, then operations:

\`\`\`
[src/a.ts#1A2B]
PUT 3.=4:
+the new lines, each after a plus
PUT >10:
+inserted after line 10
CUT 20.=22
\`\`\`

- \`PUT N.=M:\` replaces lines N to M with the rows below it. \`PUT <N:\` inserts before line N, \`PUT >N:\` after it, \`PUT >$:\` at the end.
- \`CUT N.=M\` deletes lines. \`PUT >N\` without a colon inserts what was cut last; \`CUT N.=M @name\` and \`PUT >N @name\` name it.
- \`REM\` deletes the file, \`MV PATH\` moves it.
- Every new line starts with \`+\`, also an empty one. What follows is written as it is, with its indentation. Do not write removed or unchanged lines.
- All numbers are those of the version with this tag. Name only lines that you were shown.
- All changes are made, or none. The answer has the new tag: use it for the next edit.`,
  sloppy: "This form of edits is not available here. Write the file with the write tool, or set edit.mode to hashline.",
};

function known(mode: string): (typeof EDIT_MODES)[number] {
  const found = EDIT_MODES.find((each) => each === mode);
  if (!found) throw new Error(`Unknown edit mode: ${mode}; use ${EDIT_MODES.join(", ")}`);
  return found;
}

/**
 * Returns the description of the edit tool in a mode, as Markdown.
 * @throws Error for an unknown mode.
 */
export function editDescription(mode: string): string {
  return DESCRIPTIONS[known(mode)];
}

/**
 * Returns null: edits are arguments in JSON, which every provider supports.
 * @throws Error for an unknown mode.
 */
export function editGrammar(mode: string): null {
  known(mode);
  return null;
}
