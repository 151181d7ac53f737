/**
 * `node-pty`: programs in pseudo-terminals as event emitters. Unix only.
 * @module
 */
import { EventEmitter } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { ReadStream } from "node:tty";
import { PtySession } from "../index.js";

/** Removes a listener. */
export interface IDisposable {
  /** Removes the listener. */
  dispose(): void;
}

/** Adds a listener. */
export type IEvent<T> = (listener: (event: T) => unknown) => IDisposable;

/** The options of both kinds of terminals. */
export interface IBasePtyForkOptions {
  /** The value of `TERM`. Default: that of `env`, otherwise `xterm`. */
  name?: string;
  /** The number of columns, from 1 to 65,535. Default 80. */
  cols?: number;
  /** The number of rows, from 1 to 65,535. Default 24. */
  rows?: number;
  /** The working directory. Default: that of the process. */
  cwd?: string;
  /** The complete environment. Default: that of the process. */
  env?: { [name: string]: string | undefined };
  /** The encoding of data; null emits a `Buffer`. Default `utf8`. */
  encoding?: string | null;
  /** Pause the output when `flowControlPause` is written. Default false. */
  handleFlowControl?: boolean;
  /** The text that pauses it. Default XOFF. */
  flowControlPause?: string;
  /** The text that resumes it. Default XON. */
  flowControlResume?: string;
}

/** The options of a terminal. */
export interface IPtyForkOptions extends IBasePtyForkOptions {
  /** Another user. Not supported; throws an error. */
  uid?: number;
  /** Another group. Not supported; throws an error. */
  gid?: number;
}

/** The options of a terminal without a program. */
export interface IPtyOpenOptions {
  /** The number of columns. Default 80. */
  cols?: number;
  /** The number of rows. Default 24. */
  rows?: number;
  /** The encoding of the sockets. Default `utf8`. */
  encoding?: string | null;
}

type Data = string | Buffer;

function eventOf<T>(emitter: EventEmitter, name: string, read: (...args: never[]) => T): IEvent<T> {
  return (listener) => {
    const own = (...args: unknown[]) => void listener(read(...(args as never[])));
    emitter.on(name, own);
    return { dispose: () => void emitter.off(name, own) };
  };
}

/** The base class of terminals on all systems. */
export abstract class Terminal {
  protected readonly _emitter: EventEmitter = new EventEmitter();
  protected _pid = 0;
  protected _cols = 80;
  protected _rows = 24;
  protected readonly _flowControlPause: string;
  protected readonly _flowControlResume: string;
  /** True if written text can pause the output. */
  handleFlowControl: boolean;
  /** Called with each piece of output. */
  readonly onData: IEvent<string>;
  /** Called when the program has ended. */
  readonly onExit: IEvent<{ exitCode: number; signal?: number }>;

  constructor(options: IPtyForkOptions = {}) {
    this.handleFlowControl = options.handleFlowControl ?? false;
    this._flowControlPause = options.flowControlPause ?? "\x13";
    this._flowControlResume = options.flowControlResume ?? "\x11";
    this.onData = eventOf(this._emitter, "data", (data: string) => data);
    this.onExit = eventOf(this._emitter, "exit", (exitCode: number, signal?: number) => ({ exitCode, ...(signal !== undefined && { signal }) }));
    for (const [name, type] of Object.entries({ name: "string", cols: "number", rows: "number", cwd: "string", env: "object", uid: "number", gid: "number", handleFlowControl: "boolean", flowControlPause: "string", flowControlResume: "string" })) {
      this._checkType(name, options[name as keyof IPtyForkOptions] ?? undefined, type);
    }
    if (options.encoding !== null) this._checkType("encoding", options.encoding ?? undefined, "string");
  }

  protected abstract _write(data: Data): void;
  /** Changes the size. */
  abstract resize(cols: number, rows: number): void;
  /** Clears the buffer of the system, if it has one. */
  abstract clear(): void;
  /** Ends the program with the terminal. */
  abstract destroy(): void;
  /** Sends a signal to the program. */
  abstract kill(signal?: string): void;
  /** The name of the program in the foreground. */
  abstract get process(): string;

  protected _checkType(name: string, value: unknown, type: string, allowArray = false): void {
    if (value === undefined) return;
    const values = allowArray && Array.isArray(value) ? value : [value];
    const wrong = values.find((one) => typeof one !== type);
    if (values.some((one) => typeof one !== type)) throw new Error(`${name} must be a ${type} (not a ${typeof wrong})`);
  }

  /** The process id of the program. */
  get pid(): number {
    return this._pid;
  }

  /** The columns. */
  get cols(): number {
    return this._cols;
  }

  /** The rows. */
  get rows(): number {
    return this._rows;
  }

  /** Writes input. */
  write(data: Data): void {
    if (this.handleFlowControl && data === this._flowControlPause) return this.pause();
    if (this.handleFlowControl && data === this._flowControlResume) return this.resume();
    this._write(data);
  }

  /** Pauses the output. */
  pause(): void {}

  /** Resumes the output. */
  resume(): void {}

  /** Adds a listener of `data`, `exit`, `close` or `error`. */
  on(name: string, listener: (...args: never[]) => void): this {
    this._emitter.on(name, listener as (...args: unknown[]) => void);
    return this;
  }

  /** The same as `on`. */
  addListener(name: string, listener: (...args: never[]) => void): this {
    return this.on(name, listener);
  }

  /** Adds a listener for one event. */
  once(name: string, listener: (...args: never[]) => void): this {
    this._emitter.once(name, listener as (...args: unknown[]) => void);
    return this;
  }

  /** Removes a listener. */
  off(name: string, listener: (...args: never[]) => void): this {
    this._emitter.off(name, listener as (...args: unknown[]) => void);
    return this;
  }

  /** The same as `off`. */
  removeListener(name: string, listener: (...args: never[]) => void): this {
    return this.off(name, listener);
  }

  /** Removes all listeners. */
  removeAllListeners(name?: string): this {
    this._emitter.removeAllListeners(name);
    return this;
  }

  /** Returns the listeners of an event. */
  listeners(name: string): Function[] {
    return this._emitter.listeners(name);
  }

  /** Calls the listeners of an event. */
  emit(name: string, ...args: unknown[]): boolean {
    return this._emitter.emit(name, ...args);
  }
}

/** Variables in the environment that describe another terminal. */
const FOREIGN = ["TMUX", "TMUX_PANE", "STY", "WINDOW", "WINDOWID", "TERMCAP", "COLUMNS", "LINES"];

function environment({ env = process.env, name, cwd }: IPtyForkOptions): Record<string, string | undefined> {
  const all: Record<string, string | undefined> = { ...Object.fromEntries(Object.keys(process.env).map((key) => [key, undefined])), ...env };
  if (env === process.env) for (const key of FOREIGN) all[key] = undefined;
  return { ...all, TERM: name ?? env["TERM"] ?? "xterm", PWD: cwd ?? process.cwd() };
}

/** A program in a Unix terminal. */
export class UnixTerminal extends Terminal {
  protected readonly _file: string;
  protected _session: PtySession | undefined;
  protected _fd = -1;
  protected _pty = "";
  protected _master: ReadStream | undefined;
  protected _slave: ReadStream | undefined;
  #destroyed = false;
  #over = false;

  constructor(file?: string, args?: string[] | string, options: IPtyForkOptions = {}) {
    super(options);
    if (typeof args === "string") throw new Error("args as a string is not supported on unix.");
    for (const name of ["uid", "gid"] as const) if (options[name] !== undefined) throw new Error(`${name} is not supported: programs run as the current user`);
    this._checkType("file", file, "string");
    this._checkType("args", args, "string", true);
    this._file = file || process.env["SHELL"] || "sh";
    this._cols = options.cols || 80;
    this._rows = options.rows || 24;
    // A terminal without a program is created by `open`.
    if (new.target === OpenTerminal) return;
    const { encoding = "utf8" } = options;
    const session = (this._session = new PtySession());
    const decoder = encoding === null || encoding === "utf8" ? undefined : new StringDecoder(encoding as BufferEncoding);
    const emit = (data: Data) => !this.#destroyed && data.length > 0 && this._emitter.emit("data", data);
    const request = { argv: [this._file, ...(args ?? [])], cols: this._cols, rows: this._rows, env: environment(options), ...(options.cwd !== undefined && { cwd: options.cwd }) };
    const ended = encoding === "utf8"
      ? session.start(request, (text) => void emit(text))
      : session.start({ ...request, encoding: "buffer" }, (bytes) => void emit(decoder ? decoder.write(Buffer.from(bytes)) : Buffer.from(bytes)));
    const finish = (code: number, signal: number | undefined) => {
      this.#over = true;
      if (decoder) emit(decoder.end());
      this._emitter.emit("exit", code, signal);
      this._emitter.emit("close");
    };
    ended.then(
      ({ exitCode, signal }) => finish(signal ? 0 : (exitCode ?? 0), signal ? constants.signals[signal as NodeJS.Signals] : exitCode === undefined ? constants.signals.SIGHUP : 0),
      // A failed start is reported as output, with the messages of node-pty if it has one.
      (error: NodeJS.ErrnoException) => {
        const call = options.cwd !== undefined && !existsSync(options.cwd) ? "chdir(2)" : "execvp(3)";
        const reason = { ENOENT: "No such file or directory", EACCES: "Permission denied" }[error.code ?? ""];
        const told = `${reason ? `${call} failed.: ${reason}` : error.message}\r\n`;
        emit(encoding === null ? Buffer.from(told) : told);
        finish(1, 0);
      },
    );
    const terminal = session.terminal();
    this._pid = terminal?.pid ?? 0;
    this._fd = terminal?.fd ?? -1;
    this._pty = terminal?.name ?? "";
  }

  /** A terminal without a program: sockets of both ends. */
  static open(options: IPtyOpenOptions = {}): UnixTerminal {
    return new OpenTerminal(options);
  }

  /** The file descriptor of the host's end; -1 if no program was started. */
  get fd(): number {
    return this._fd;
  }

  /** The path of the program's end. */
  get ptsName(): string {
    return this._pty;
  }

  /** The host's end of a terminal that `open` has created. */
  get master(): ReadStream | undefined {
    return this._master;
  }

  /** The program's end of a terminal that `open` has created. */
  get slave(): ReadStream | undefined {
    return this._slave;
  }

  get process(): string {
    const stat = `/proc/${this._pid}/stat`;
    if (process.platform !== "linux" || this.#over || !existsSync(stat)) return this._file;
    try {
      // State, parent, group, session, terminal, and the terminal's foreground group.
      const group = readFileSync(stat, "latin1").replace(/^.*\)/s, "").trim().split(" ")[5];
      const [name] = readFileSync(`/proc/${group}/cmdline`, "utf8").split("\0");
      return name ? basename(name) : this._file;
    } catch (error) {
      // The program has ended.
      if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return this._file;
      throw error;
    }
  }

  protected _write(data: Data): void {
    if (!this.#over && !this.#destroyed) this._session?.write(data);
  }

  override pause(): void {
    if (!this.#over) this._session?.pause();
  }

  override resume(): void {
    if (!this.#over) this._session?.resume();
  }

  resize(cols: number, rows: number): void {
    if (!(cols > 0 && rows > 0 && Number.isFinite(cols) && Number.isFinite(rows))) throw new Error("resizing must be done using positive cols and rows");
    this._session?.resize(Math.floor(cols), Math.floor(rows));
    this._cols = cols;
    this._rows = rows;
  }

  clear(): void {}

  kill(signal: string = "SIGHUP"): void {
    if (this.#over || !this._pid) return;
    try {
      process.kill(this._pid, signal);
    } catch (error) {
      // The program has ended, and its exit event is pending.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  destroy(): void {
    this.#destroyed = true;
    // Paused output must not delay the end.
    this.resume();
    this.kill("SIGHUP");
  }
}

/** A terminal without a program. */
class OpenTerminal extends UnixTerminal {
  constructor({ cols = 80, rows = 24, encoding = "utf8" }: IPtyOpenOptions) {
    super(undefined, undefined, { cols, rows });
    const pair = PtySession.open(cols, rows);
    this._master = new ReadStream(pair.master);
    this._slave = new ReadStream(pair.slave);
    for (const socket of [this._master, this._slave]) {
      if (encoding !== null) socket.setEncoding(encoding as BufferEncoding);
      // Node reports an error when the other end of the terminal is closed.
      socket.on("error", (error: NodeJS.ErrnoException) => error.code === "EIO" || this._emitter.emit("error", error));
    }
    this._fd = pair.master;
    this._pty = pair.name;
    this._master.on("data", (data: Data) => this._emitter.emit("data", data));
  }

  protected override _write(data: Data): void {
    this._master?.write(data);
  }

  override destroy(): void {
    this._master?.destroy();
    this._slave?.destroy();
  }
}

/** A program in a terminal. */
export type IPty = UnixTerminal;

/**
 * Runs a program in a terminal.
 *
 * @throws For an option of the wrong type. A program that cannot be started ends with exit code 1.
 */
export function spawn(file?: string, args?: string[] | string, options?: IPtyForkOptions): IPty {
  if (process.platform === "win32") throw new Error("compat/node-pty: terminals run on Unix only");
  return new UnixTerminal(file, args, options);
}

/** The same as `spawn`. */
export const fork = spawn;
/** The same as `spawn`. */
export const createTerminal = spawn;

/** A terminal without a program: sockets of both ends. */
export function open(options?: IPtyOpenOptions): IPty {
  return UnixTerminal.open(options);
}

export default { spawn, fork, createTerminal, open, Terminal, UnixTerminal };
