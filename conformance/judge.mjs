/**
 * Counts the rows of a table. A row that fails is a fault, or is known: `known` is a list of `{ reason, rows: [id…] }`.
 * What is known and passes is a fault too, unless it is `unsteady`, and, where the list was made for this table (`whole`),
 * what is no row at all: the list says what is so today.
 */
export function judge(rows, known = [], { gate, whole = true } = {}) {
  const judged = { tiers: {}, passed: 0, known: [], healed: [], faults: [] };
  const groups = new Map(known.flatMap((group) => group.rows.map((id) => [id, group])));
  const seen = new Set();
  for (const row of rows) {
    seen.add(row.id);
    const tier = (judged.tiers[row.tier ?? "-"] ??= [0, 0]);
    tier[1] += 1;
    const group = groups.get(row.id);
    if (row.pass) {
      tier[0] += 1;
      if (group && !group.unsteady) judged.healed.push(row.id);
      else judged.passed += 1;
    } else if (group?.reason?.trim()) judged.known.push({ row, reason: group.reason });
    else judged.faults.push(`(${row.tier ?? "-"}) ${row.id}: ${row.detail ?? "fails"}`);
  }
  if (whole) judged.healed.push(...[...groups.keys()].filter((id) => !seen.has(id)));
  judged.faults.push(...judged.healed.map((id) => `${id} is listed as known to fail, and passes or is no row: take it off (--heal)`));
  try {
    gate?.(rows);
  } catch (error) {
    judged.faults.push(error.message);
  }
  return judged;
}
