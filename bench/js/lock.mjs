// Takes and releases a lock on a file, against proper-lockfile.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default async function (bench) {
  const { FileLock } = bench.natives;
  const { default: lockfile } = await import("proper-lockfile");
  const folder = mkdtempSync(join(tmpdir(), "sinew-bench-lock-"));
  const path = join(folder, "data");
  writeFileSync(path, "");
  try {
    await bench.compare("a free lock taken and released", {
      sinew: async () => (await FileLock.acquire(path)).release(),
      "sinew, sync": () => FileLock.tryAcquireSync(path).release(),
      "proper-lockfile": async () => (await lockfile.lock(path))(),
    }, { targets: { "proper-lockfile": 1 } });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
