// A session of the agent over RPC, and what its process uses.
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A session over RPC. */
export class Session {
  #waiting = new Map();

  constructor(program, args, options) {
    this.child = spawn(program, ["--mode", "rpc", ...args], { ...options, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const frame = JSON.parse(line);
      const key = frame.type === "response" ? frame.id : frame.type;
      this.#waiting.get(key)?.(frame);
    });
  }

  /** The next event of a type, or the response with an id. */
  next(key) {
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }

  async ask(type, fields = {}) {
    const response = this.next(type);
    this.child.stdin.write(`${JSON.stringify({ id: type, type, ...fields })}\n`);
    const { success, data, error } = await response;
    if (!success) throw new Error(`${type}: ${error}`);
    return data;
  }

  async prompt(message) {
    const settled = this.next("agent_settled");
    await this.ask("prompt", { message });
    await settled;
  }

  /** Our memory in MB. */
  memory() {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${this.child.pid}/smaps_rollup`, "utf8"))[1]) / 1024;
  }

  /** The numbers of its descriptors, threads and child processes. */
  counts() {
    const own = `/proc/${this.child.pid}`;
    const tasks = readdirSync(join(own, "task"));
    const children = tasks.flatMap((task) => readFileSync(join(own, "task", task, "children"), "utf8").split(" ").filter(Boolean));
    return { descriptors: readdirSync(join(own, "fd")).length, threads: tasks.length, processes: children.length };
  }

  /** How often each of its threads has gone to sleep. */
  switches() {
    const tasks = `/proc/${this.child.pid}/task`;
    return new Map(readdirSync(tasks).map((task) => [task, Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(join(tasks, task, "status"), "utf8"))[1])]));
  }

  async end() {
    const ended = new Promise((resolve) => this.child.once("close", resolve));
    this.child.stdin.end();
    await ended;
  }
}
