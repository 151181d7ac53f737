// Checks keys with the tests of terminals and of terminal programs. The order of modifiers in an id does not matter.
import { shareOf } from "../share.mjs";

function ordered(id) {
  if (typeof id !== "string") return id;
  const split = id.lastIndexOf("+", id.length - 2);
  if (split < 1) return id;
  return `${id.slice(0, split).split("+").sort().join("+")}+${id.slice(split + 1)}`;
}

export async function run(table, natives) {
  return table.cases.map(({ fn, args, expected, expectedAnyOf, tier }) => {
    const found = natives[fn](...args);
    const wanted = (expectedAnyOf ?? [expected]).map(ordered);
    const call = `${fn}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`;
    // Tables may expect different answers to the same call.
    return { id: `${call} = ${wanted.map((key) => JSON.stringify(key)).join(" or ")}`, tier, pass: wanted.includes(ordered(found)), detail: `it is ${JSON.stringify(found)}` };
  });
}

export const gate = (rows) => shareOf(rows, ["A", "B"], 0.98);
