// Runs random sessions with children with the agent's program at SINEW_BIN. SINEW_SCHEDULES is their number, and
// SINEW_SCHEDULE the number of a single one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inParallel } from "../../scripts/lib/parallel.mjs";
import { runSchedule } from "./schedules.mjs";

const skip = process.platform !== "linux" && "processes are found in /proc";
const only = process.env.SINEW_SCHEDULE;
const count = Number(process.env.SINEW_SCHEDULES ?? 60);
/** Most of a schedule is waiting. */
const AT_ONCE = 4;

test("each child that starts ends once, and the model is told its end once", { skip }, async () => {
  const seeds = only ? [Number(only)] : Array.from({ length: count }, (_, number) => number);
  const failed = await inParallel(seeds, AT_ONCE, async (seed) => {
    const { failures, deeds } = await runSchedule(seed);
    return failures.map((failure) => `SINEW_SCHEDULE=${seed} (${deeds.join(", ")}): ${failure}`);
  });
  assert.deepEqual(failed.flat(), []);
});
