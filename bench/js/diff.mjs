// Compares two versions of a source file by lines, by words and as a unified diff, against jsdiff.

/** A file of `lines` lines, of which every `step`-th differs between the versions. */
function versions(lines, step) {
  const line = (n, word) => `  const value${n % 97} = compute(${word}, ${(n * 7919) % 1009}); // step ${n % 13}`;
  const text = (word) => Array.from({ length: lines }, (_, n) => line(n, n % step ? "input" : word)).join("\n");
  return [text("before"), text("after")];
}

export default async function (bench) {
  const { diff, unifiedDiff } = bench.natives;
  const { createTwoFilesPatch, diffLines, diffWordsWithSpace } = await import("diff");
  const [old, now] = versions(5000, 50);
  await bench.compare("5,000 lines, 100 changed, by lines", {
    sinew: () => diff(old, now),
    diff: () => diffLines(old, now),
  }, { targets: { diff: 1 } });
  await bench.compare("the same as a unified diff", {
    sinew: () => unifiedDiff(old, now),
    diff: () => createTwoFilesPatch("a", "b", old, now),
  }, { targets: { diff: 1 } });
  const [few, other] = versions(100, 10);
  await bench.compare("100 lines, 10 changed, by words", {
    sinew: () => diff(few, other, { unit: "word" }),
    diff: () => diffWordsWithSpace(few, other),
  }, { targets: { diff: 1 } });
}
