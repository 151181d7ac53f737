// Runs the stories of sessions with children with the agent's program at SINEW_BIN. known.json lists the stories that
// are known to fail.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { loadStories, runStory } from "./stories.mjs";

const known = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));
const stories = loadStories();
const skip = (stories === undefined && "the folder of the stories is missing") || (process.platform !== "linux" && "processes are found in /proc");

test("known.json names stories only", { skip }, () => {
  const ids = new Set(stories.map(({ id }) => id));
  assert.deepEqual(Object.keys(known).filter((id) => !ids.has(id)), []);
});

test("stories", { skip, concurrency: 2 }, async (t) => {
  const tests = stories.map((story) => t.test(`${story.id}: ${story.why}`, async () => {
    const { failures } = await runStory(story);
    if (story.id in known) assert.notEqual(failures.length, 0, `it fits now: remove it from known.json ("${known[story.id]}")`);
    else assert.equal(failures.length, 0, failures.join("\n"));
  }));
  await Promise.all(tests);
});
