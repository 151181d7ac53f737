// Draws the picture of the agent in the README: runs a scripted session in a pseudo-terminal and a terminal emulator,
// and draws the screen as SVG.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../lib/steps.mjs";
import { THEMES, drawScreen } from "./screen.mjs";

const SIZE = { cols: 92, rows: 44 };
const LIMIT_MS = 30_000;
/** The home directory. Its path is on the screen, so it is the same in every picture. */
const HOME = join(tmpdir(), "you");
/** The start of the row of the permission panel that is drawn last. */
const LAST_CHOICE = "  5 ";
const LABEL = "The agent finds a bug in a small project, fixes it, and asks for permission before it pushes";

/** Creates a project with a bug in a separate home directory, whose settings ask before a push. */
function createProject(home) {
  const project = join(home, "shop");
  mkdirSync(project);
  writeFileSync(join(project, "cart.mjs"), `export function total(prices) {\n  let sum = 1;\n  for (const price of prices) sum += price;\n  return sum;\n}\n`);
  writeFileSync(join(project, "check.mjs"), `import { total } from "./cart.mjs";\n\nconst sum = total([2, 3]);\nconsole.log(sum === 5 ? "all sums are right" : \`total([2, 3]) is \${sum}, not 5\`);\nprocess.exitCode = sum === 5 ? 0 : 1;\n`);
  const git = (...args) => execFileSync("git", ["-c", "user.name=You", "-c", "user.email=you@example.com", ...args], { cwd: project });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "You");
  git("config", "user.email", "you@example.com");
  git("add", ".");
  git("commit", "--quiet", "--message=Begin");
  const agent = join(home, ".sinew", "agent");
  mkdirSync(agent, { recursive: true });
  writeFileSync(join(agent, "settings.json"), JSON.stringify({ permissions: { ask: ["bash(git push*)"] } }));
  return project;
}

/** A terminal's answer to the query of its background color. */
function backgroundReply(hex) {
  const parts = [1, 3, 5].map((at) => hex.slice(at, at + 2).repeat(2));
  return `\x1b]11;rgb:${parts.join("/")}\x1b\\`;
}

/** Runs the session in a terminal with the colors of `theme`, and returns a picture of its last screen. */
async function play(agent, theme) {
  const require = createRequire(import.meta.url);
  const { Terminal } = require("@xterm/headless");
  const { PtySession } = require(join(ROOT, "packages", "natives"));
  const home = HOME;
  mkdirSync(home);
  try {
    const terminal = new Terminal({ ...SIZE, allowProposedApi: true });
    const session = new PtySession();
    terminal.onData((reply) => session.write(reply));
    terminal.parser.registerOscHandler(11, (data) => {
      if (data === "?") session.write(backgroundReply(theme.background));
      return true;
    });
    const argv = [agent, "--script", join(ROOT, "scripts", "docs", "scene.jsonl")];
    const env = { HOME: home, SINEW_HOME: join(home, ".sinew"), TERM: "xterm-256color", COLORTERM: "truecolor", NO_COLOR: "" };
    const rows = () => {
      const { active } = terminal.buffer;
      return Array.from({ length: SIZE.rows }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "");
    };
    let look = () => {};
    const ended = session.start({ argv, cwd: createProject(home), env, timeoutMs: LIMIT_MS, ...SIZE }, (chunk) => new Promise((done) => terminal.write(chunk, () => (look(), done()))));
    const shown = (text) => new Promise((done) => {
      look = () => rows().some((row) => row.includes(text)) && done();
      look();
    });
    const step = async (keys, text) => {
      session.write(keys);
      const early = ended.then(() => { throw new Error(`the agent ended before it showed ${JSON.stringify(text)}:\n${rows().join("\n").trimEnd()}`); });
      await Promise.race([shown(text), early]);
    };
    await step("", "ready");
    await step("the sums in my cart are wrong: fix them and push", "fix them and push");
    await step("\r", LAST_CHOICE);
    const picture = drawScreen(terminal, theme, LABEL);
    session.write("\x1b");
    await shown("ready");
    session.write("\x04");
    await ended;
    return picture;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * Writes docs/images/terminal.svg and its light variant with a built agent: `SINEW_BIN`, a release in dist, or the one
 * of the tests.
 */
export async function drawPicture() {
  const candidates = [process.env.SINEW_BIN, join(ROOT, "dist", "sinew"), join(ROOT, "target", "debug", "sinew")];
  const agent = candidates.find((path) => path && existsSync(path));
  if (!agent) throw new Error("no agent to draw; run: npm run build -- --agent");
  const folder = join(ROOT, "docs", "images");
  mkdirSync(folder, { recursive: true });
  for (const [name, theme] of [["terminal.svg", THEMES.dark], ["terminal-light.svg", THEMES.light]]) {
    const path = join(folder, name);
    const picture = await play(agent, theme);
    if (!existsSync(path) || readFileSync(path, "utf8") !== picture) writeFileSync(path, picture);
  }
}
