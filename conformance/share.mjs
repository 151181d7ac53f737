/** Throws if the share of passed rows in these tiers is less than `share`. */
export function shareOf(rows, tiers, share) {
  const asked = rows.filter((row) => tiers.includes(row.tier));
  const passed = asked.filter((row) => row.pass).length;
  if (passed < share * asked.length) throw new Error(`${passed} of ${asked.length} pass, ${share * 100} % must`);
}
