/**
 * The native handles of sandboxes, which only this package sees.
 * @module
 */
import type { SandboxHandle } from "./native.js";

const handles = new WeakMap<object, SandboxHandle>();

/** Notes the handle of a sandbox. @internal */
export function keepHandle(sandbox: object, handle: SandboxHandle): void {
  handles.set(sandbox, handle);
}

/** The handle of a sandbox; `undefined` for what is no sandbox. @internal */
export function handleOf(sandbox: unknown): SandboxHandle | undefined {
  return typeof sandbox === "object" && sandbox !== null ? handles.get(sandbox) : undefined;
}
