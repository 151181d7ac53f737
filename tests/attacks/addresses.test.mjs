// Tests that rules for addresses apply to redirects, and that no spelling reaches a private address.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { createStage, openAgent, skip } from "./agent.mjs";

/** A website that redirects `/go?ADDRESS`. `seen` has the paths that were asked for. */
async function openSite() {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.url);
    const [path, target] = request.url.split("?");
    if (path === "/go") response.writeHead(302, { location: decodeURIComponent(target) }).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("a text of the site");
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address();
  return { seen, port, close: () => new Promise((closed) => server.close(closed).closeAllConnections()) };
}

async function play(settings, calls) {
  const stage = await createStage({ settings });
  const agent = await openAgent(stage);
  try {
    return (await agent.play([calls.map((url) => ["fetch", { url }])])).results;
  } finally {
    await agent.close();
    await stage.close();
  }
}

test("a redirect to a denied address is not followed", { skip }, async () => {
  const site = await openSite();
  const base = `http://127.0.0.1:${site.port}`;
  const go = (target) => `${base}/go?${encodeURIComponent(target)}`;
  const targets = [`${base}/denied`, "/denied", `HTTP://127.1:${site.port}/denied`, `http://u:p@127.0.0.1:${site.port}/denied/a`, `//127.0.0.1:${site.port}/x/../denied`, `http://2130706433:${site.port}/denied`, go("/denied")];
  try {
    const rules = { deny: [`fetch(${base}/denied*)`] };
    const results = await play({ fetch: { allowPrivate: ["127.0.0.1"] }, permissions: rules }, [...targets.map(go), `${base}/allowed`, go("/allowed")]);
    for (const [index, target] of targets.entries()) assert.ok(results[index].isError, `${target}: ${results[index].text}`);
    assert.deepEqual(site.seen.filter((path) => path.startsWith("/denied")), []);
    for (const { isError, text } of results.slice(targets.length)) assert.ok(!isError && text.includes("a text of the site"), text);
  } finally {
    await site.close();
  }
});

test("no spelling of an address reaches a private one", { skip }, async () => {
  const site = await openSite();
  const { port } = site;
  const hosts = ["127.0.0.1", "localhost", "127.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "u@127.0.0.1", "①27.0.0.1", "127。0。0。1"];
  try {
    const results = await play({}, hosts.map((host) => `http://${host}:${port}/`));
    for (const [index, host] of hosts.entries()) assert.match(results[index].text, /^Refused: /, host);
    assert.deepEqual(site.seen, []);
  } finally {
    await site.close();
  }
});
