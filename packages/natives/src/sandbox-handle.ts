/**
 * The native handles of sandboxes, which are internal to this package.
 * @module
 */
import type { SandboxHandle } from "./native.js";

const handles = new WeakMap<object, SandboxHandle>();

/** Stores the handle of a sandbox. @internal */
export function keepHandle(sandbox: object, handle: SandboxHandle): void {
  handles.set(sandbox, handle);
}

/** Returns the handle of a sandbox; `undefined` for any other value. @internal */
export function handleOf(sandbox: unknown): SandboxHandle | undefined {
  return typeof sandbox === "object" && sandbox !== null ? handles.get(sandbox) : undefined;
}
