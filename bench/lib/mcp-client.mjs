import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A client of a server that runs as a program: it writes requests as lines and reads the answers. */
export class Client {
  #next = 1;
  #waiting = new Map();

  /** `onRequest` is called with requests that the program sends. */
  constructor(command, args, env, onRequest) {
    this.child = spawn(command, args, { env, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const frame = JSON.parse(line);
      if (frame.method) return onRequest?.(frame);
      const { id, result, error } = frame;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result);
    });
  }

  ask(method, params) {
    const id = this.#next++;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  greet() {
    return this.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } });
  }

  notify(method, params) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
  }

  async call(name, args) {
    const result = await this.ask("tools/call", { name, arguments: args });
    if (result.isError) throw new Error(result.content[0].text);
    return result.content[0].text;
  }

  async end() {
    const ended = new Promise((resolve) => this.child.once("close", resolve));
    this.child.stdin.end();
    await ended;
  }
}
