/**
 * Functions for macOS. They answer as on another system, which programs expect on Linux and Windows.
 * @module
 */

/** The appearances of macOS. */
export const MacOSAppearance = { Dark: "dark", Light: "light" } as const;

/** Returns null: the appearance of macOS is not known. */
export function detectMacOSAppearance(): null {
  return null;
}

/** An observer that is never called. */
export class MacAppearanceObserver {
  private constructor() {}

  static start(_callback: unknown): MacAppearanceObserver {
    return new MacAppearanceObserver();
  }

  stop(): void {}
}

/** The function of version 13 for {@link MacAppearanceObserver}. */
export function startMacAppearanceObserver(callback: unknown): MacAppearanceObserver {
  return MacAppearanceObserver.start(callback);
}

/** Returns false: the spelling service of macOS is not used. */
export function macOSSpellCheckerAvailable(): boolean {
  return false;
}

/** Resolves to no misspelled words. */
export async function macOSCheckSpelling(_text: string): Promise<{ start: number; length: number }[]> {
  return [];
}

/** Resolves to no completions. */
export async function macOSCompleteWord(_text: string, _start: number, _length: number): Promise<string[]> {
  return [];
}

/** Resolves to no correction. */
export async function macOSAutocorrectWord(_text: string, _start: number, _length: number): Promise<string | null> {
  return null;
}

/** Resolves to no guesses. */
export async function macOSSpellingGuesses(_text: string, _start: number, _length: number): Promise<string[]> {
  return [];
}

/** Resolves to a result that says that the device cannot attest. */
export async function deviceCheckGenerateToken(): Promise<{ supported: boolean; latencyMs: number }> {
  return { supported: false, latencyMs: 0 };
}

/** A receiver of URLs of a custom scheme, which this system does not deliver: `start` resolves to false, and a login goes on with the browser's copy and paste. */
export class NativeOAuthCallback {
  constructor(_options: { scheme: string }) {}

  async start(): Promise<boolean> {
    return false;
  }

  cancel(): void {}

  async waitForCallback(_timeoutMs?: number | null): Promise<string> {
    throw new Error("NativeOAuthCallback: no scheme was registered, so no URL arrives");
  }

  async dispose(): Promise<undefined> {
    return undefined;
  }
}

/** A request not to let the machine sleep, which is not made: the object exists, and the machine sleeps when it is configured to. */
export class PowerAssertion {
  private constructor() {}

  static start(_options?: unknown): PowerAssertion {
    return new PowerAssertion();
  }

  stop(): void {}
}

/** The name of {@link PowerAssertion} in versions 14 to 17. */
export const MacOSPowerAssertion = PowerAssertion;
