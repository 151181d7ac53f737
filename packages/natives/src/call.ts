/**
 * Wraps calls of the addon: an `AbortSignal` becomes a native `Abort`, a callback that throws or rejects ends the call,
 * and errors get the stack of the caller.
 * @module
 */
import { native } from "./loader.js";
import type { Abort } from "./native.js";

/** The options of every call that may take long. */
export interface CallOptions {
  /** Time limit in milliseconds; the call then ends with a `TimeoutError`. Default: no limit. */
  timeoutMs?: number | undefined;
  /** A signal that ends the call with an `AbortError` whose `cause` is the signal's reason. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Returns the error of a call whose signal was aborted before it began. */
function aborted(signal: AbortSignal): Error {
  const error = new Error("Aborted: Signal", { cause: signal.reason });
  error.name = "AbortError";
  return Object.assign(error, { code: "ABORT_ERR" });
}

/** Returns the frames of a stack, without the message before them. */
function frames(stack: string | undefined): string {
  const at = stack?.search(/\n\s+at /) ?? -1;
  return at < 0 ? "" : (stack as string).slice(at);
}

/**
 * Runs a native call. Its error is created on the event loop without the frames of the caller, so this function adds the
 * stack of the call.
 * @internal
 */
export async function called<T>(start: () => Promise<T>): Promise<T> {
  const here: { stack?: string } = {};
  Error.captureStackTrace?.(here, called);
  try {
    return await start();
  } catch (error) {
    const place = frames(here.stack);
    if (place && error instanceof Error) {
      Object.defineProperty(error, "stack", { value: `${error.name}: ${error.message}${place}`, configurable: true, writable: true });
    }
    throw error;
  }
}

/** The running calls of each signal. They share one listener, because Node warns about more than ten per target. */
const running = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `stop` when the signal is aborted. Returns a function that removes this handler. */
function onAbort(signal: AbortSignal, stop: () => void): () => void {
  let calls = running.get(signal);
  if (!calls) {
    const all = new Set<() => void>();
    running.set(signal, (calls = all));
    signal.addEventListener("abort", () => all.forEach((stop) => stop()), { once: true });
  }
  const set = calls;
  set.add(stop);
  return () => set.delete(stop);
}

/**
 * Connects a native `Abort` to a signal while `run` is running.
 * @internal
 */
export async function tied<T>(signal: AbortSignal | undefined, abort: Abort, run: () => Promise<T>): Promise<T> {
  const untie = signal && onAbort(signal, () => abort.abort());
  try {
    return await called(run);
  } catch (error) {
    if (signal?.aborted && error instanceof Error && error.name === "AbortError") {
      Object.defineProperty(error, "cause", { value: signal.reason, configurable: true, writable: true });
    }
    throw error;
  } finally {
    untie?.();
  }
}

/**
 * Runs a native call that a signal can abort. If the signal is aborted already, the call is not started.
 * @internal
 */
export async function underSignal<T>(
  signal: AbortSignal | undefined,
  start: (abort: Abort | undefined) => Promise<T>,
): Promise<T> {
  if (!signal) return called(() => start(undefined));
  if (signal.aborted) throw aborted(signal);
  const abort = new native.Abort();
  return tied(signal, abort, () => start(abort));
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/**
 * The time limit and signal of a call that waits for promises of its callback. The time starts when this is created.
 * @internal
 */
export class Limit {
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: number | undefined;

  constructor({ signal, timeoutMs }: CallOptions) {
    this.#signal = signal;
    this.#deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  }

  /** Returns the error that ended the call; undefined if it has not ended. */
  reached(): Error | undefined {
    if (this.#signal?.aborted) return aborted(this.#signal);
    if (this.#deadline === undefined || performance.now() < this.#deadline) return undefined;
    const error = new Error("Aborted: Timeout");
    error.name = "TimeoutError";
    return Object.assign(error, { code: "ERR_TIMEOUT" });
  }

  /** Waits for `work` within the limits of the call. Returns the error that ended the wait early, if there was one. */
  async wait(work: PromiseLike<unknown>): Promise<Error | undefined> {
    let untie: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const before = this.reached();
    if (before) {
      // Nothing awaits this promise any more, so its rejection is ignored.
      work.then(undefined, () => {});
      return before;
    }
    const left = new Promise<"left">((leave) => {
      untie = this.#signal && onAbort(this.#signal, () => leave("left"));
      // A timer can fire up to a millisecond early.
      if (this.#deadline !== undefined) timer = setTimeout(leave, Math.min(this.#deadline - performance.now() + 1, 2 ** 31 - 1), "left");
    });
    try {
      return (await Promise.race([work, left])) === "left" ? this.reached() : undefined;
    } finally {
      untie?.();
      clearTimeout(timer);
    }
  }
}

/**
 * Does the same as `underSignal` for a call with a callback. Values are passed to the callback one at a time. If it
 * returns a promise, the next value and the native side wait for it. If it throws or its promise rejects, the call stops
 * and rejects with that error, and no further value is delivered. A call that was stopped in another way does not wait
 * for a promise. If `rejects` is true and the native work is done, a signal or time limit drops the remaining values and
 * rejects the call.
 * @internal
 */
export async function withCallback<V, T>(
  limits: CallOptions,
  callback: (value: V) => unknown,
  rejects: boolean,
  start: (abort: Abort, deliver: (value: V) => void) => Promise<T>,
): Promise<T> {
  const { signal } = limits;
  if (signal?.aborted) throw aborted(signal);
  const limit = new Limit(limits);
  const abort = new native.Abort();
  let failed: { error: unknown } | undefined;
  let over = false;
  let dropped = false;
  /** Returns true if the callback receives no more values. If a signal dropped a value, the call rejects. */
  const isClosed = () => {
    if (failed || over) return true;
    dropped ||= rejects && signal?.aborted === true;
    return dropped;
  };
  const fail = (error: unknown) => {
    failed ??= { error };
    abort.abort();
  };
  // Values that arrived while a promise was awaited. There are few, because the native side stops at the next value.
  const queue: V[] = [];
  let busy: Promise<void> | undefined;
  const drain = async (first: PromiseLike<unknown>) => {
    abort.hold();
    try {
      await first;
      while (queue.length > 0 && !isClosed()) await callback(queue.shift() as V);
    } catch (error) {
      fail(error);
    } finally {
      busy = undefined;
      abort.release();
    }
  };
  const deliver = (value: V) => {
    if (isClosed()) return;
    if (busy) return void queue.push(value);
    try {
      const result = callback(value);
      if (isPromise(result)) busy = drain(result);
    } catch (error) {
      fail(error);
    }
  };
  try {
    const result = await tied(signal, abort, () => start(abort, deliver));
    const left = busy && (await limit.wait(busy));
    if (left && rejects) throw left;
    if (dropped && signal) throw aborted(signal);
    return result;
  } finally {
    over = true;
    // An error of the callback has priority over a result and over the abort that it caused.
    if (failed) throw (failed as { error: unknown }).error;
  }
}

/**
 * Passes values to a callback one at a time, and awaits the promises that it returns.
 * @throws The error that the callback throws or rejects with; an `AbortError` or `TimeoutError` if the call was stopped.
 * @internal
 */
export async function deliverAll<V>(
  signal: AbortSignal | undefined,
  limit: Limit,
  values: Iterable<V>,
  callback: (value: V) => unknown,
): Promise<void> {
  for (const value of values) {
    if (signal?.aborted) throw aborted(signal);
    const result = callback(value);
    const left = isPromise(result) ? await limit.wait(result) : undefined;
    if (left) throw left;
  }
}
