// Reads 50 MB from a pseudo-terminal, against node-pty.
const COMMAND = "stty -opost; head -c 52428800 /dev/zero | tr '\\0' x";

export default async function (bench) {
  const { PtySession } = bench.natives;
  const peer = await bench.optional("node-pty");
  const spawn = peer?.spawn ?? peer?.default?.spawn;
  await bench.compare("50 MB of output", {
    sinew: () => new PtySession().start({ command: COMMAND }, () => {}),
    "node-pty": spawn && (() => new Promise((resolve) => {
      const pty = spawn("sh", ["-lc", COMMAND], { cols: 120, rows: 40 });
      pty.onData(() => {});
      pty.onExit(resolve);
    })),
  }, { targets: { "node-pty": 1 }, rounds: 5 });
  await bench.compare("start and end of a program", {
    sinew: () => new PtySession().start({ command: "true" }),
    "node-pty": spawn && (() => new Promise((resolve) => spawn("sh", ["-lc", "true"], {}).onExit(resolve))),
  }, { targets: { "node-pty": 1.5 }, rounds: 5, note: "node-pty starts no supervisor, and leaves behind what leaves its group" });
}
