/**
 * Carries calls across the binding: an `AbortSignal` becomes a native `Abort`, a callback that throws or rejects ends the call, and an
 * error says where the call was made.
 * @module
 */
import { native } from "./loader.js";
import type { Abort } from "./native.js";

/** The options of every call that can run long. */
export interface CallOptions {
  /** Time limit in milliseconds; the call then ends with a `TimeoutError`. Default: no limit. */
  timeoutMs?: number | undefined;
  /** A signal that ends the call with an `AbortError` whose `cause` is the signal's reason. Default: none. */
  signal?: AbortSignal | undefined;
}

/** The rejection of a call whose signal was aborted before it began. */
function aborted(signal: AbortSignal): Error {
  const error = new Error("Aborted: Signal", { cause: signal.reason });
  error.name = "AbortError";
  return Object.assign(error, { code: "ABORT_ERR" });
}

/** The frames of a stack, without what stands before them. */
function frames(stack: string | undefined): string {
  const at = stack?.search(/\n\s+at /) ?? -1;
  return at < 0 ? "" : (stack as string).slice(at);
}

/**
 * Runs a native call. Its error is made on the event loop, where nothing of the caller is left: it gets the stack of the
 * place where the call was made.
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

/** The calls that run under each signal. One listener serves them all: Node warns of more than ten on a target. */
const running = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `stop` when the signal is aborted; what comes back takes that back. */
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
 * Ties a native `Abort` to a signal for the time of `run`.
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
 * Runs a native call under a signal. A signal that is aborted already starts no work.
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
 * The end of a call that waits for a promise of its callback: when, and with what error. Its time begins here.
 * @internal
 */
export class Limit {
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: number | undefined;

  constructor({ signal, timeoutMs }: CallOptions) {
    this.#signal = signal;
    this.#deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  }

  /** The error that ended the call, if it has ended. */
  reached(): Error | undefined {
    if (this.#signal?.aborted) return aborted(this.#signal);
    if (this.#deadline === undefined || performance.now() < this.#deadline) return undefined;
    const error = new Error("Aborted: Timeout");
    error.name = "TimeoutError";
    return Object.assign(error, { code: "ERR_TIMEOUT" });
  }

  /** Waits for `work`, but no longer than the call may take. Returns the error that ended the wait early, if one did. */
  async wait(work: PromiseLike<unknown>): Promise<Error | undefined> {
    let untie: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const before = this.reached();
    if (before) {
      // Nobody waits for it any more.
      work.then(undefined, () => {});
      return before;
    }
    const left = new Promise<"left">((leave) => {
      untie = this.#signal && onAbort(this.#signal, () => leave("left"));
      // A timer fires up to a millisecond early.
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
 * The same for a call with a callback. Values are handed to the callback one after the other; a promise that it returns is
 * awaited first, and the native side waits meanwhile. When it throws or its promise rejects, the call is ended and rejects
 * with that; no further value is delivered. A call that was ended otherwise does not wait for a promise. `rejects` says what
 * a signal and a time limit do when nothing but the callback is waited for: whether values that are left are dropped and the
 * call rejects.
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
  /** Whether the callback gets no more; a value that a signal takes from it makes the call reject. */
  const isClosed = () => {
    if (failed || over) return true;
    dropped ||= rejects && signal?.aborted === true;
    return dropped;
  };
  const fail = (error: unknown) => {
    failed ??= { error };
    abort.abort();
  };
  // What came while a promise was awaited. The native side stops at the next value, so these are few.
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
    // What the callback threw beats both a result and the abort that it caused.
    if (failed) throw (failed as { error: unknown }).error;
  }
}

/**
 * Hands values to a callback one after the other; a promise that it returns is awaited.
 * @throws What the callback throws or its promise rejects with; an `AbortError` or `TimeoutError` once the call is over.
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
