/**
 * Functions for macOS. They return the results for other systems, which programs handle on Linux and Windows.
 * @module
 */

/** The appearances of macOS. */
export const MacOSAppearance = { Dark: "dark", Light: "light" } as const;

/** Returns null, because the appearance of macOS is unknown. */
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

/** Returns false, because the spelling service of macOS is not used. */
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

/** Resolves to a result without device attestation. */
export async function deviceCheckGenerateToken(): Promise<{ supported: boolean; latencyMs: number }> {
  return { supported: false, latencyMs: 0 };
}

/**
 * A receiver of URLs with a custom scheme, which is not supported: `start` resolves to false, and a login continues
 * with copying and pasting the URL.
 */
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

/** A request to prevent the machine from sleeping. It has no effect. */
export class PowerAssertion {
  private constructor() {}

  static start(_options?: unknown): PowerAssertion {
    return new PowerAssertion();
  }

  stop(): void {}
}

/** The name of {@link PowerAssertion} in versions 14 to 17. */
export const MacOSPowerAssertion = PowerAssertion;
