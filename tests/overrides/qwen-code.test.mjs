// Tests qwen-code from npm under Node with our modules instead of node-pty and sharp.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ImageFormat, PhotonImage, SamplingFilter } from "@sinew/natives";
import { PhotonImage as Photon } from "@sinew/natives/compat/photon-node";
import { run } from "../../packages/natives/test/host.mjs";
import { installedAgents } from "./agents.mjs";
import { serveModel, textsOf } from "./model.mjs";

/** Plays the turns of a model in a project with the files `files`, and returns the last request. */
async function play(t, turns, files = {}) {
  const program = join(installedAgents("qwen-code"), "@qwen-code", "qwen-code", "cli.js");
  const folder = mkdtempSync(join(tmpdir(), "overrides-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const cwd = join(folder, "project");
  for (const each of [cwd, join(folder, ".qwen")]) mkdirSync(each);
  writeFileSync(join(folder, ".qwen", "settings.json"), JSON.stringify({ tools: { shell: { enableInteractiveShell: true } } }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const model = await serveModel([...turns(cwd), "that was all"]);
  t.after(model.close);
  // Models with this name accept images.
  const env = { HOME: folder, OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: "qwen3-vl-m", TERM: "xterm-256color" };
  const { code, out, err } = await run(process.execPath, [program, "--yolo", "-p", "go"], { cwd, env });
  assert.deepEqual([code, out.trim()], [0, "that was all"], err);
  return model.requests.at(-1);
}

test("qwen-code runs commands on a terminal of ours", { skip: process.platform === "win32" && "Unix only" }, async (t) => {
  // In our terminals the supervisor is the parent of the shell.
  const command = 'test -t 1 && echo "on-$((40 + 2))-a-terminal under $(cat /proc/$PPID/comm 2>/dev/null || ps -o comm= -p $PPID)"';
  const request = await play(t, () => [[["run_shell_command", { command, description: "test", is_background: false }]]]);
  assert.match(textsOf("tool", request)[0], /on-42-a-terminal under sinew-shell-ho/);
});

test("qwen-code enlarges a part of a picture with our images", async (t) => {
  // Each column has another opacity.
  const pixels = Uint8Array.from({ length: 40 * 20 * 4 }, (_, at) => (at % 4 === 3 ? (at >> 2) % 40 : 40) * 6);
  const png = new Photon(pixels, 40, 20).get_bytes();
  const request = await play(t, (cwd) => [[["zoom_image", { file_path: join(cwd, "a.png"), x1: 0, y1: 0, x2: 500, y2: 500 }]]], { "a.png": png });
  const [, base64] = /data:image\/jpeg;base64,([^"]+)/.exec(JSON.stringify(request));
  // The bytes come from our encoder; sharp's file is different.
  const part = await (await PhotonImage.parse(png)).crop(0, 0, 20, 10);
  const again = await (await part.resize(160, 80, SamplingFilter.Lanczos3)).encode(ImageFormat.JPEG, 92);
  assert.equal(base64, Buffer.from(again).toString("base64"));
});
