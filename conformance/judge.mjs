/**
 * Counts the rows of a table. A row that fails is a fault, unless it is known: `known` is a list of
 * `{ reason, rows: [id…] }`. A known row that passes is a fault too, unless it is `unsteady`. If the list was made for
 * this table (`whole`), a known row that does not exist is also a fault. So the list is always up to date.
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
