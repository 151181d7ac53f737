/**
 * How a call crosses: an `AbortSignal` becomes a native `Abort`, a callback that throws ends the call.
 * @module
 */
import { native } from "./loader.js";
import type { Abort } from "./native.js";

/** What every call that can run long accepts. */
export interface CallOptions {
  /** Ends the call this many milliseconds after it began, with a `TimeoutError`. Default: no limit. */
  timeoutMs?: number | undefined;
  /** Ends the call with an `AbortError` whose `cause` is the signal's reason. Default: none. */
  signal?: AbortSignal | undefined;
}

/** The rejection of a call whose signal was aborted before it began. */
function abortedBefore(signal: AbortSignal): Error {
  const error = new Error("Aborted: Signal", { cause: signal.reason });
  error.name = "AbortError";
  return Object.assign(error, { code: "ABORT_ERR" });
}

/** The calls that run under each signal. One listener serves them all: Node warns of more than ten on a target. */
const running = new WeakMap<AbortSignal, Set<Abort>>();

function join(signal: AbortSignal, abort: Abort): void {
  let calls = running.get(signal);
  if (!calls) {
    const all = new Set<Abort>();
    running.set(signal, (calls = all));
    signal.addEventListener("abort", () => all.forEach((call) => call.abort()), { once: true });
  }
  calls.add(abort);
}

/** Ties a native `Abort` to a signal for the time of `run`. */
async function tied<T>(signal: AbortSignal | undefined, abort: Abort, run: () => Promise<T>): Promise<T> {
  if (signal) join(signal, abort);
  try {
    return await run();
  } catch (error) {
    if (signal?.aborted && error instanceof Error && error.name === "AbortError") {
      Object.defineProperty(error, "cause", { value: signal.reason, configurable: true, writable: true });
    }
    throw error;
  } finally {
    if (signal) running.get(signal)?.delete(abort);
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
  if (!signal) return start(undefined);
  if (signal.aborted) throw abortedBefore(signal);
  const abort = new native.Abort();
  return tied(signal, abort, () => start(abort));
}

/**
 * The same for a call with a callback: when the user's callback throws, the call is ended and rejects with what
 * was thrown; no further value is delivered.
 * @internal
 */
export async function withCallback<V, T>(
  signal: AbortSignal | undefined,
  callback: (value: V) => unknown,
  start: (abort: Abort, deliver: (value: V) => void) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw abortedBefore(signal);
  const abort = new native.Abort();
  let thrown: { error: unknown } | undefined;
  const deliver = (value: V) => {
    if (thrown) return;
    try {
      callback(value);
    } catch (error) {
      thrown = { error };
      abort.abort();
    }
  };
  try {
    return await tied(signal, abort, () => start(abort, deliver));
  } finally {
    // What the callback threw beats both a result and the abort that it caused.
    if (thrown) throw (thrown as { error: unknown }).error;
  }
}
