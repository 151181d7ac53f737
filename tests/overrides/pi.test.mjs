// Tests pi from npm under Bun with our module instead of photon.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ImageFormat, PhotonImage } from "@sinew/natives";
import { run, runtimes } from "../../packages/natives/test/host.mjs";
import { installedAgents } from "./agents.mjs";
import { serveModel, textsOf } from "./model.mjs";

const GIF = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

/** Starts pi in a project with a picture of 3000 × 2600 pixels, which pi shrinks. */
async function play(t, modules) {
  const folder = mkdtempSync(join(tmpdir(), "overrides-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  mkdirSync(join(folder, ".pi", "agent"), { recursive: true });
  const model = await serveModel([[["read", { path: "big.png" }]], "that was all"]);
  t.after(model.close);
  const models = [{ id: "m", name: "m", contextWindow: 100_000, maxTokens: 8000, input: ["text", "image"] }];
  writeFileSync(join(folder, ".pi", "agent", "models.json"), JSON.stringify({ providers: { local: { baseUrl: `${model.url}/v1`, api: "openai-completions", apiKey: "none", models } } }));
  const picture = await (await PhotonImage.parse(GIF)).resize(3000, 2600);
  writeFileSync(join(cwd, "big.png"), await picture.encode(ImageFormat.PNG));
  const program = join(modules, "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js");
  const env = { HOME: folder, TERM: "xterm-256color", PI_OFFLINE: "1" };
  return { ...(await run(runtimes().bun, [program, "--model", "local/m", "-p", "go"], { cwd, env })), requests: model.requests };
}

test("pi shrinks a picture with our images", async (t) => {
  const { code, out, err, requests } = await play(t, installedAgents("pi"));
  assert.deepEqual([code, out.trim()], [0, "that was all"], err);
  assert.match(textsOf("tool", requests.at(-1))[0], /original 3000x2600, displayed at 2000x1733/);
  const [, base64] = /data:image\/png;base64,([^"]+)/.exec(JSON.stringify(requests.at(-1)));
  const sent = await PhotonImage.parse(Buffer.from(base64, "base64"));
  assert.deepEqual([sent.width, sent.height], [2000, 1733]);
  // The bytes come from our encoder; photon's file is different.
  const again = await (await (await PhotonImage.parse(GIF)).resize(3000, 2600)).resize(2000, 1733);
  assert.equal(base64, Buffer.from(await again.encode(ImageFormat.PNG)).toString("base64"));
});
