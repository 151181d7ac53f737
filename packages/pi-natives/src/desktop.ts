/**
 * The desktop, which is not part of this package: a session reports that nothing is available, as on a machine without a display.
 * @module
 */
import "./installed.js";
import { refusal } from "./missing.js";

/** The capabilities of a session without a desktop. */
const CAPABILITIES = {
  backend: "unavailable", capture: false, input: false, ax: false, backgroundWindowInput: false, deliveryModes: [], capturePermission: "unavailable",
  inputPermission: "unavailable", axPermission: "unavailable", displayCount: 0,
};

const METHODS = [
  "listDisplays", "listWindows", "capture", "click", "moveMouse", "drag", "scroll", "typeText", "keyChord", "raiseWindow", "axSnapshot", "axQuery", "axElementAt", "axFocused", "axNode",
  "axAttributes", "axChildren", "axParent", "axPerform", "axSetValue", "axFocus", "axClick",
] as const;

/** A session without a desktop. Every method except `close` rejects with `ERR_METHOD_NOT_IMPLEMENTED`. */
export class DesktopSession {
  constructor(_options?: unknown) {}

  get capabilities(): typeof CAPABILITIES {
    return { ...CAPABILITIES };
  }

  async close(): Promise<undefined> {
    return undefined;
  }
}
/** The methods that reject. */
export interface DesktopSession extends Record<(typeof METHODS)[number], (...args: unknown[]) => Promise<never>> {}

for (const name of METHODS) {
  DesktopSession.prototype[name] = async () => {
    throw refusal(`DesktopSession.${name}`);
  };
}

/** Opens a session. */
export function createDesktopSession(options: unknown): DesktopSession {
  return new DesktopSession(options);
}
