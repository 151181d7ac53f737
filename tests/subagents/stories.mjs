// Stories of sessions with children: each is set up in folders of its own, run with a scripted model, and judged.
import { judge } from "./judge.mjs";
import { play } from "./play.mjs";
import { closeStage, openStage } from "./stage.mjs";

export { PROGRAM, loadStories } from "./stage.mjs";

/** The starts of the program in a story: the first, and `again` where the story has it. */
function runsOf({ script, mode, prompt, args, cwd, meanwhile, expect, again }) {
  const first = { name: "script", script, mode, prompt, args, cwd, meanwhile, expect };
  return again ? [first, { name: "again", mode, cwd, ...again }] : [first];
}

/**
 * Runs a story and returns `{id, kind, failures, printed, folder, ms}`; `failures` are texts, none if the story fits. Every process of the story is gone
 * afterwards, and its folder is deleted unless `keep`.
 */
export async function runStory(story, { keep = false } = {}) {
  const began = performance.now();
  const failures = [];
  const printed = [];
  const stage = await openStage(story);
  try {
    for (const run of runsOf(story)) {
      const played = await play(stage, run);
      printed.push(played.printed);
      const found = await judge(run, stage, played);
      failures.push(...found.map((text) => (run.name === "again" ? `second start: ${text}` : text)));
    }
  } finally {
    await closeStage(stage, { keep });
  }
  return { id: story.id, kind: story.kind, failures, printed, folder: stage.folder, ms: performance.now() - began };
}

/** Runs stories, `atOnce` at a time, and calls `report` with the result of each. Returns the results in the order of the stories. */
export async function runStories(stories, { atOnce = 2, report = () => {}, ...options } = {}) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < stories.length) {
      const index = next++;
      results[index] = await runStory(stories[index], options);
      report(results[index]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
