// Runs cargo for another system and counts its errors and warnings.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ROOT, dim } from "../lib/steps.mjs";

/**
 * Runs `cargo-zigbuild COMMAND`. Resolves to { ok, errors, warnings, programs, seconds }: the messages about crates of
 * this workspace, and the paths of what was built. Shows errors as they come. `late` is set if the run was ended after
 * `limit` ms.
 */
export function cargo(command, words, { target, glibc, flags, optimised, env = {}, limit }) {
  const args = [command, "--locked", "-Zbuild-std", "--message-format=json-render-diagnostics", "--target", glibc ? `${target}.${glibc}` : target];
  // Optimising tests is worth it only under an emulator: there the tests of search take ten minutes instead of forty.
  const level = Number(Boolean(optimised));
  args.push("--config", `profile.dev.package."*".opt-level=${level}`);
  if (optimised) args.push("--config", `profile.dev.opt-level=${level}`);
  args.push(...words);
  console.log(dim(`$ cargo-zigbuild ${args.join(" ")}`));
  const begun = Date.now();
  const child = spawn("cargo-zigbuild", args, { cwd: ROOT, env: { ...process.env, ...env, ZIG_TARGET: target.replace("-unknown", ""), ...(flags ? { RUSTFLAGS: flags } : {}) }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const result = { ok: false, errors: 0, warnings: 0, programs: [], seconds: 0 };
  let done = 0;
  let late = false;
  // Ends the process group, because cargo is a child of cargo-zigbuild.
  const end = () => child.pid && process.kill(-child.pid, "SIGTERM");
  const timer = limit && setTimeout(() => {
    late = true;
    end();
  }, limit);
  process.once("exit", end);
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.startsWith("{")) return;
    const message = JSON.parse(line);
    if (message.reason !== "compiler-artifact") return;
    done += 1;
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K  ${done} crates: ${message.target.name}`);
    if (message.executable) result.programs.push({ path: message.executable, crate: message.target.name, package: packageOf(message.package_id) });
    for (const path of message.filenames) if (/\.(so|dll|dylib)$/.test(path)) result.programs.push({ path, crate: message.target.name, package: packageOf(message.package_id) });
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    const plain = line.replace(/\x1b\[[0-9;]*m/g, "");
    if (/^error(\[|:)/.test(plain) && !/^error: could not compile/.test(plain)) result.errors += 1;
    else if (/^warning: `\S+` .*generated (\d+) warning/.test(plain)) result.warnings += Number(/generated (\d+)/.exec(plain)[1]);
    if (!/^\s*(Compiling|Checking|Downloading|Downloaded|Updating|Finished|Fresh|Blocking)/.test(plain)) console.log(`  ${line}`);
  });
  return new Promise((resolve) => {
    child.on("error", (cause) => {
      console.log(`  failed to start cargo-zigbuild: ${cause.message}`);
      resolve(result);
    });
    child.on("close", (code) => {
      if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
      clearTimeout(timer);
      process.removeListener("exit", end);
      resolve({ ...result, late, ok: code === 0, seconds: Math.round((Date.now() - begun) / 1000) });
    });
  });
}

/** The crate's name in an id such as `path+file:///x/crates/sinew-walk#0.1.0` or `…/native#sinew-node@0.1.0`. */
function packageOf(id) {
  const [path, end] = id.split("#");
  return end.includes("@") ? end.split("@")[0] : path.split("/").pop();
}
