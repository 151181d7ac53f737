// Patterns from the tests of the regex crate: valid ones must work unchanged, whatever braces they have, and invalid
// ones must be refused.

/** Whether hasMatch agrees with each case. */
export async function run(table, natives) {
  return table.cases.map(({ test, pattern, haystack, ignoreCase, match, throws, tier }) => {
    const expected = throws ? "an error" : match;
    let found;
    try {
      found = natives.hasMatch(haystack, pattern, { ignoreCase, multiline: false });
    } catch {
      found = "an error";
    }
    const id = `${test} ${JSON.stringify(pattern)}`;
    return { id, tier, pass: found === expected, detail: `${JSON.stringify(haystack)}: ${found}, not ${expected}` };
  });
}
