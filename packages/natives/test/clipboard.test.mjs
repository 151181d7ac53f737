import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { copyToClipboard, readImageFromClipboard, readTextFromClipboard } = require("..");
const { osc52 } = require("../dist/osc52.js");

const x11 = { skip: process.platform !== "linux" && "the clipboard of X11" };

async function withDisplay(display, work) {
  const { DISPLAY, TERMUX_VERSION } = process.env;
  delete process.env.TERMUX_VERSION;
  if (display === undefined) delete process.env.DISPLAY;
  else process.env.DISPLAY = display;
  try {
    return await work();
  } finally {
    if (DISPLAY === undefined) delete process.env.DISPLAY;
    else process.env.DISPLAY = DISPLAY;
    if (TERMUX_VERSION !== undefined) process.env.TERMUX_VERSION = TERMUX_VERSION;
  }
}

test("without a display there is nothing to read, and copying does not reject", x11, async () => {
  await withDisplay(undefined, async () => {
    assert.equal(await readTextFromClipboard(), null);
    assert.equal(await readImageFromClipboard(), null);
    assert.equal(await copyToClipboard("x"), undefined);
    assert.equal(await copyToClipboard(7), undefined);
  });
});

test("a display that is not there rejects reading and not copying", x11, async () => {
  await withDisplay(":64999", async () => {
    await assert.rejects(readTextFromClipboard(), { message: /failed to reach the display ":64999"/ });
    await assert.rejects(readImageFromClipboard(), { code: "EIO" });
    await copyToClipboard("x");
  });
});

test("text and pictures go through a real server", x11, async (context) => {
  const server = spawn("Xvfb", ["-displayfd", "1", "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset"], { stdio: ["ignore", "pipe", "ignore"] });
  context.after(() => server.kill());
  const [number] = await once(server.stdout, "data");
  const display = `:${String(number).trim()}`;
  const xclip = (args, input) => spawnSync("xclip", ["-selection", "clipboard", ...args], { input, env: { ...process.env, DISPLAY: display }, stdio: ["pipe", input === undefined ? "pipe" : "ignore", "ignore"] });
  await withDisplay(display, async () => {
    assert.equal(await readTextFromClipboard(), null);
    await copyToClipboard("from Node ✓");
    assert.equal(String(xclip(["-o", "-t", "UTF8_STRING"]).stdout), "from Node ✓");
    assert.equal(await readTextFromClipboard(), "from Node ✓");
    const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(1000, 7)]);
    xclip(["-i", "-t", "image/png"], picture);
    // xclip goes to the background before the X server knows of the content.
    let image = null;
    while (image === null) image = await readImageFromClipboard();
    assert.equal(image.mimeType, "image/png");
    assert.ok(image.data instanceof Uint8Array && picture.equals(image.data));
  });
});

test("the desktop gives back what was copied", { skip: process.platform === "linux" && "tested with a server of its own" }, async () => {
  await copyToClipboard("from Node ✓");
  assert.equal(await readTextFromClipboard(), "from Node ✓");
  assert.equal(await readImageFromClipboard(), null);
});

test("the terminal's sequence is wrapped for multiplexers and left out when it is too large", () => {
  const plain = "\x1b]52;c;aMOp\x07";
  assert.equal(osc52("hé", {}), plain);
  assert.equal(osc52("hé", { TMUX: "/tmp/x" }), `${plain}\x1bPtmux;\x1b${plain}\x1b\\`);
  assert.equal(osc52("hé", { STY: "1" }), `\x1bP${plain}\x1b\\`);
  assert.equal(osc52("x".repeat(2000), { STY: "1" }).match(/\x1bP/g).length, 4);
  assert.equal(osc52("x".repeat(75_001), {}), undefined);
});

test("a terminal gets the sequence, a pipe that is closed gets nothing and harms nobody", async () => {
  const source = `const { copyToClipboard } = require(${JSON.stringify(require.resolve(".."))});`;
  const env = { ...process.env, TMUX: "", STY: "", DISPLAY: "" };
  // Standard output claims to be a terminal, but is a pipe whose reader is closed.
  const child = spawn(process.execPath, ["-e", `${source} process.stdout.isTTY = true; process.stdin.once("data", async () => { await copyToClipboard("x"); process.exit(7); });`], { env, stdio: ["pipe", "pipe", "inherit"] });
  child.stdout.destroy();
  await once(child.stdout, "close");
  child.stdin.write("go");
  assert.deepEqual(await once(child, "exit"), [7, null]);
  const piped = spawnSync(process.execPath, ["-e", `${source} copyToClipboard("x")`], { env });
  assert.deepEqual([piped.status, String(piped.stdout)], [0, ""]);
  const shown = spawnSync(process.execPath, ["-e", `${source} process.stdout.isTTY = true; copyToClipboard("x")`], { env });
  assert.equal(String(shown.stdout), "\x1b]52;c;eA==\x07");
});
