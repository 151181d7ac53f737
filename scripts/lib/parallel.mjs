// Runs work on a list, several items at a time.

/** Calls `work` for each item, `atOnce` at a time. Returns the results in the order of the items; the first error fails. */
export async function inParallel(items, atOnce, work) {
  const results = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [index, item] of rest) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
