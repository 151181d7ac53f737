// Runs cargo builds with one line of progress instead of a line per crate. If a build fails, cargo's messages are
// shown.
import { spawn } from "node:child_process";
import { explained } from "./causes.mjs";
import { ROOT, dim } from "./steps.mjs";

/** The count in cargo's progress bar: `Building [==>  ] 12/345: regex, serde`. */
const PROGRESS = /\[[=> ]*\] (\d+)\/(\d+)(?:: (.*))?/;
/** The end of a line, or of a progress bar that is overwritten. */
const LINE_END = /\r\n|\r|\n|\x1b\[K/;
/** Lines that say nothing about a failure. */
const ROUTINE = /^\s*(Compiling|Checking|Downloading|Downloaded|Updating|Locking|Adding|Blocking|Finished|Building|Fetch|Fresh|Dirty|$)/;

/** Minutes and seconds: `2:05`. */
export function clock(ms) {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Reads cargo's stderr piece by piece: how far a build is, and the lines that are worth showing when it fails. */
export class BuildOutput {
  done = 0;
  total = 0;
  crates = "";
  lines = [];
  #rest = "";

  push(text) {
    const parts = (this.#rest + text).split(LINE_END);
    this.#rest = parts.pop();
    parts.forEach((line) => this.#line(line));
    // The bar is redrawn without a line end.
    const found = PROGRESS.exec(this.#rest);
    if (found) this.#progress(found);
  }

  end() {
    this.#line(this.#rest);
    this.#rest = "";
  }

  #line(line) {
    const found = PROGRESS.exec(line);
    if (found) this.#progress(found);
    else if (!ROUTINE.test(line)) this.lines.push(line);
  }

  #progress([, done, total, crates]) {
    this.done = Number(done);
    this.total = Number(total);
    this.crates = crates ?? this.crates;
  }
}

/** One line for a terminal of `columns`: `addon: 120 of 290 crates, 1:05 (regex, serde)`. */
export function progressLine(what, { done, total, crates }, ms, columns) {
  const count = total ? `${done} of ${total} crates, ` : "";
  const line = `${what}: ${count}${clock(ms)}${crates ? ` (${crates})` : ""}`;
  return line.length < columns ? line : `${line.slice(0, columns - 2)}…`;
}

/** `1 to 3 minutes` for 60 seconds: machines of two cores differ by as much. */
export function minutes(seconds) {
  const [least, most] = [Math.max(1, Math.round(seconds / 60)), Math.ceil((seconds * 2.5) / 60)];
  if (most === 1) return "1 minute";
  return `${least} to ${most} minutes`;
}

/**
 * Runs `cargo ARGS`. `what` names what is built, and `seconds` is how long a first build takes on two fast cores, if
 * known. On a terminal, one line shows the progress; elsewhere there is a line at the start and one at the end.
 * `verbose` passes on all output of cargo. Rejects when cargo fails, after showing its messages.
 */
export function cargoBuild(args, { what, seconds, env = {}, verbose = false, stream = process.stdout }) {
  const begun = performance.now();
  const first = seconds ? ` (the first time ${minutes(seconds)} on two cores)` : "";
  stream.write(dim(`building ${what}${first}\n`));
  if (verbose) stream.write(dim(`$ cargo ${args.join(" ")}\n`));
  const live = Boolean(stream.isTTY) && !verbose;
  // Cargo draws its progress bar in a pipe only if it is told the width of the terminal.
  const bar = verbose ? {} : { CARGO_TERM_PROGRESS_WHEN: "always", CARGO_TERM_PROGRESS_WIDTH: "200", CARGO_TERM_COLOR: "never" };
  return new Promise((resolve, reject) => {
    const child = spawn("cargo", args, {
      cwd: ROOT,
      env: { ...process.env, ...env, ...bar },
      stdio: ["ignore", "inherit", verbose ? "inherit" : "pipe"],
    });
    const output = new BuildOutput();
    const draw = () => stream.write(`\r\x1b[K${progressLine(what, output, performance.now() - begun, stream.columns ?? 80)}`);
    const timer = live ? setInterval(draw, 500) : undefined;
    child.stderr?.setEncoding("utf8").on("data", (text) => output.push(text));
    child.on("error", (cause) => {
      clearInterval(timer);
      reject(new Error(`failed to start cargo: ${cause.message}`));
    });
    child.on("close", (code, signal) => {
      clearInterval(timer);
      output.end();
      if (live) stream.write("\r\x1b[K");
      if (code === 0) {
        stream.write(dim(`built ${what} in ${clock(performance.now() - begun)}\n`));
        return resolve();
      }
      process.stderr.write(`${output.lines.join("\n")}\n`);
      reject(new Error(explained(`cargo ${args.slice(0, 3).join(" ")} ended with ${signal ?? `code ${code}`}`, output.lines)));
    });
  });
}
