// Runs stories of sessions with children: each is set up in separate folders, run with a scripted model, and checked.
import { inParallel } from "../../scripts/lib/parallel.mjs";
import { judge, unplayedLanes } from "./judge.mjs";
import { play } from "./play.mjs";
import { closeStage, openStage, runSetup } from "./stage.mjs";

export { PROGRAM, loadStories } from "./stage.mjs";

/** The runs of the program in a story: the first, and `again` if the story has it. */
function runsOf({ script, mode, prompt, args, cwd, meanwhile, expect, again }) {
  const first = { name: "script", script, mode, prompt, args, cwd, meanwhile, expect };
  return again ? [first, { name: "again", mode, cwd, ...again }] : [first];
}

/**
 * Runs a story and returns `{id, kind, failures, unplayed, printed, folder, ms}`. `failures` are texts, empty if the
 * story passes. `unplayed` lists lanes whose turns were not all requested. Afterwards all processes of the story have
 * ended, and its folder is deleted unless `keep`. Fails if a line of `setup` fails.
 */
export async function runStory(story, { keep = false } = {}) {
  const began = performance.now();
  const failures = [];
  const unplayed = [];
  const printed = [];
  const stage = openStage(story);
  try {
    await runSetup(stage, story.setup);
    for (const run of runsOf(story)) {
      const played = await play(stage, run);
      printed.push(played.printed);
      const found = await judge(run, stage, played);
      failures.push(...found.map((text) => (run.name === "again" ? `second start: ${text}` : text)));
      unplayed.push(...unplayedLanes(run, stage, played));
    }
  } finally {
    await closeStage(stage, { keep });
  }
  return { id: story.id, kind: story.kind, failures, unplayed, printed, folder: stage.folder, ms: performance.now() - began };
}

/**
 * Runs stories, `atOnce` at a time, and calls `report` with each result. Returns the results in the order of the
 * stories. An error counts as a failure.
 */
export async function runStories(stories, { atOnce = 2, report = () => {}, ...options } = {}) {
  return inParallel(stories, atOnce, async (story) => {
    const { id, kind } = story;
    const broken = (error) => ({ id, kind, failures: [`it could not be run: ${error.stack}`], unplayed: [], printed: [], folder: "", ms: 0 });
    const result = await runStory(story, options).catch(broken);
    report(result);
    return result;
  });
}
