// Tests programs, scripts, shells and terminals in a sandbox, and policies that are refused.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const { PtySession, Sandbox, Shell, executeShell, run } = createRequire(import.meta.url)("..");

const linux = { skip: process.platform !== "linux" && "sandboxes are supported on Linux only" };
const folder = realpathSync(mkdtempSync(join(tmpdir(), "sinew-sandbox-")));
after(() => rmSync(folder, { recursive: true }));

let projects = 0;
/**
 * A project with a secret. The temporary directory around it is writable in a sandbox, so write tests use another
 * place.
 */
function project() {
  const root = join(folder, `project-${projects++}`);
  mkdirSync(join(root, "deep"), { recursive: true });
  for (const file of [".env", "deep/.env"]) writeFileSync(join(root, file), "hidden");
  writeFileSync(join(root, "plain"), "plain");
  return root;
}

const policy = (root) => ({ mode: "workspace", roots: [root], denyRead: ["**/.env"], denyWrite: ["plain"] });

test("a program runs inside, and the result lists what was refused", linux, async () => {
  const root = project();
  const sandbox = await Sandbox.create(policy(root));
  const cat = await run(["cat", "plain", ".env", "deep/.env"], { cwd: root, sandbox });
  assert.equal(cat.stdout, "plain");
  assert.deepEqual(cat.refused, []);
  const outside = `/etc/sinew-sandbox-${process.pid}`;
  const touch = await run(["touch", outside], { sandbox });
  assert.equal(touch.exitCode, 1);
  assert.equal(existsSync(outside), false);
  const { refused } = await run([process.execPath, "-e", "require('net').connect(9, '127.0.0.1').on('error', (e) => console.log(e.code))"], { cwd: root, sandbox });
  assert.deepEqual(refused, [{ kind: "network", target: "127.0.0.1:9" }]);
  const created = await run(["sh", "-c", "echo '{}' > .mcp.json; echo x > plain; echo made > made"], { cwd: root, sandbox });
  assert.deepEqual(created.refused, [{ kind: "write", target: join(root, ".mcp.json") }]);
  assert.deepEqual([".mcp.json", "made"].map((name) => existsSync(join(root, name))), [false, true]);
  assert.equal(readFileSync(join(root, "plain"), "utf8"), "plain");
  await sandbox.close();
  await assert.rejects(run(["true"], { sandbox }), { code: "ERR_INVALID_STATE" });
  assert.equal("refused" in (await run(["true"])), false);
});

test("scripts, shells and terminals run inside, with both engines", linux, async () => {
  const root = project();
  const sandbox = await Sandbox.create(policy(root));
  for (const engine of ["bash", "brush"]) {
    const { stdout } = await executeShell({ command: "cat .env plain", cwd: root, engine, sandbox, buffer: true });
    assert.equal(stdout, "plain");
    const shell = new Shell({ engine, sandbox });
    await shell.run({ command: `cd ${root}; x=kept` });
    let text = "";
    await shell.run({ command: "echo $x; cat .env; cat deep/.env" }, (chunk) => void (text += chunk));
    assert.ok(text.includes("kept") && !text.includes("hidden"), text);
    await shell.close();
  }
  const pty = new PtySession();
  let text = "";
  await pty.start({ command: "tty; cat .env plain", cwd: root, login: false, sandbox }, (chunk) => void (text += chunk));
  assert.ok(text.includes("/dev/pts/") && text.includes("plain") && !text.includes("hidden"), text);
  await sandbox.close();
});

test("two sandboxes with different policies hold at the same time", linux, async () => {
  const root = project();
  const [closed, open] = await Promise.all([
    Sandbox.create({ mode: "rules", roots: [root], denyRead: ["plain"] }),
    Sandbox.create({ mode: "rules", roots: [root], denyRead: [".env"] }),
  ]);
  const read = async (sandbox) => (await run(["sh", "-c", "cat plain; cat .env"], { cwd: root, sandbox })).stdout;
  const outputs = await Promise.all([closed, open, closed, open].map(read));
  assert.deepEqual(outputs, ["hidden", "plain", "hidden", "plain"]);
  await Promise.all([closed.close(), open.close()]);
});

test("the status names each promise", linux, async () => {
  const root = project();
  const status = (await Sandbox.create(policy(root))).status();
  assert.deepEqual(Object.keys(status).sort(), ["network", "protect", "read", "signals", "sockets", "write"]);
  for (const [name, { held, by, missing }] of Object.entries(status)) {
    assert.ok(["enforced", "partial", "advisory"].includes(held), name);
    assert.equal(held === "enforced", missing.length === 0, name);
    assert.equal(held === "advisory", by.length === 0, name);
  }
});

test("policies that cannot be are refused with the entry's name", linux, async () => {
  const root = project();
  const link = join(folder, "link");
  symlinkSync(root, link);
  const rows = [
    [{ mode: "workspace" }, "ERR_INVALID_ARG_VALUE", /at least one root/],
    [{ mode: "workspace", roots: [join(root, "none")] }, "ENOENT", /none" does not exist/],
    [{ mode: "workspace", roots: ["/"] }, "ERR_INVALID_ARG_VALUE", /"\/" is too wide/],
    [{ mode: "workspace", roots: [homedir()] }, "ERR_INVALID_ARG_VALUE", /too wide/],
    [{ mode: "workspace", roots: ["~/"] }, "ERR_INVALID_ARG_VALUE", /"~\/" is too wide/],
    [{ mode: "workspace", roots: [link] }, "ERR_INVALID_ARG_VALUE", /is a link/],
    [{ mode: "workspace", roots: [`${link}/`] }, "ERR_INVALID_ARG_VALUE", /is a link/],
    [{ mode: "workspace", roots: [join(root, "plain")] }, "ERR_INVALID_ARG_VALUE", /not a directory/],
    [{ mode: "workspace", roots: [root], denyRead: ["."] }, "ERR_INVALID_ARG_VALUE", /contradicts denyRead/],
    [{ mode: "workspace", roots: [root], denyWrite: [folder] }, "ERR_INVALID_ARG_VALUE", /contradicts denyWrite/],
    [{ mode: "read-only", write: ["/srv"] }, "ERR_INVALID_ARG_VALUE", /write contradicts/],
    [{ mode: "rules", denyRead: ["~nobody/x"] }, "ERR_INVALID_ARG_VALUE", /another user/],
    [{ mode: "rules", network: "sometimes" }, "ERR_INVALID_ARG_TYPE", /network/],
    [{ mode: "rules", denyRaed: [".env"] }, "ERR_OUT_OF_RANGE", /denyRaed/],
    [{ mode: "workspace", roots: [root], required: ["protect"] }, "ERR_UNSUPPORTED", /"protect" is partial/],
    [{ mode: "workspace", roots: [root], required: ["speed"] }, "ERR_INVALID_ARG_VALUE", /speed/],
    [{}, "ERR_INVALID_ARG_TYPE", /mode/],
  ];
  for (const [given, code, message] of rows) {
    await assert.rejects(Sandbox.create(given), (error) => {
      assert.equal(error.code, code, `${JSON.stringify(given)}: ${error.message}`);
      assert.match(error.message, message);
      return true;
    });
  }
  await assert.rejects(run(["true"], { sandbox: {} }), { code: "ERR_INVALID_ARG_TYPE" });
});

test("sandboxes leave no descriptor and no process behind", linux, async () => {
  const root = project();
  const round = async () => {
    const sandbox = await Sandbox.create(policy(root));
    assert.equal((await run(["cat", "plain"], { cwd: root, sandbox })).stdout, "plain");
    await sandbox.close();
  };
  const counts = () => {
    const children = readdirSync("/proc/self/task").flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" ").filter(Boolean));
    return { descriptors: readdirSync("/proc/self/fd").length, children: children.length, mounts: readFileSync("/proc/self/mountinfo", "utf8").split("\n").length };
  };
  await round();
  const before = counts();
  for (let index = 0; index < 20; index++) await round();
  // A garbage collection meanwhile may close descriptors of other tests.
  for (const [name, count] of Object.entries(counts())) assert.ok(count <= before[name], `${name}: ${count} after ${before[name]}`);
});

test("other systems refuse a sandbox", { skip: process.platform === "linux" && "for other systems" }, async () => {
  await assert.rejects(Sandbox.create({ mode: "rules" }), { code: "ERR_UNSUPPORTED" });
});
