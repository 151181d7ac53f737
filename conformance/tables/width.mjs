// Compares visibleWidth with the reference implementations of string width. Where they disagree (tier M), the contract
// decides: OSC 66 takes as many cells as in kitty, cursor movements take none, and a lone surrogate is U+FFFD and takes
// one.
import { shareOf } from "../share.mjs";

export async function run(table, { visibleWidth }) {
  return table.cases.map(({ text, width, tier }) => {
    const found = visibleWidth(text);
    const shown = [...text].map((c) => c.codePointAt(0).toString(16)).join(" ");
    return { id: shown, tier, pass: found === width, detail: `${found} cells, not ${width}` };
  });
}

export const gate = (rows) => shareOf(rows, ["A", "B"], 0.98);
