/**
 * Parses keys: the sequences that a terminal sends when a key is pressed.
 *
 * The most frequent sequences have an index in a table that caches the addon's answers. All others are passed to the
 * addon each time.
 * @module
 */
import { native } from "./loader.js";
import { text as string, typeError } from "./options.js";

/**
 * The kinds of key events.
 *
 * @example
 * ```js
 * import { KeyEventType, parseKittySequence } from "@sinew/natives";
 * parseKittySequence("\x1b[97;1:3u").eventType === KeyEventType.Release; // true
 * ```
 */
export enum KeyEventType {
  /** The key was pressed. */
  Press = 1,
  /** The key is held down. */
  Repeat = 2,
  /** The key was released. */
  Release = 3,
}

/** The fields of a sequence of Kitty's keyboard protocol. */
export interface ParsedKittyResult {
  /**
   * The key's code point. Keys that are encoded as a letter or number have special values: up -1, down -2, right -3,
   * left -4, delete -10, insert -11, pageUp -12, pageDown -13, home -14, end -15. All others have the value of the
   * protocol.
   */
  codepoint: number;
  /** The character that the key types with shift. */
  shiftedKey?: number;
  /** The key at the same position of a US keyboard. */
  baseLayoutKey?: number;
  /** Bits: shift 1, alt 2, ctrl 4, super 8, hyper 16, meta 32, caps lock 64, num lock 128. */
  modifier: number;
  /** The type of the event; absent if the sequence does not contain it. */
  eventType?: KeyEventType;
}

/** Modifier names by the addon's bits, in output order. */
const MODIFIERS: readonly (readonly [number, string])[] = [[4, "ctrl+"], [1, "shift+"], [2, "alt+"], [8, "super+"]];
const PREFIXES = Array.from({ length: 16 }, (_, bits) => MODIFIERS.map(([bit, name]) => (bits & bit ? name : "")).join(""));

/** Codes from this value on represent named keys. */
const FIRST_NAMED = 0x110000;

let names: readonly string[] | undefined;

function idOf(packed: number): string | null {
  const code = packed & 0xffffff;
  if (code === 0) return null;
  names ??= native.keyNames();
  return PREFIXES[(packed >>> 24) & 15]! + (code < FIRST_NAMED ? String.fromCodePoint(code) : names[code - FIRST_NAMED]!);
}

// The index of a sequence is computed from its form: ASCII alone, after ESC, CSI or SS3; `CSI 1;m<letter>`; and with
// one or two numbers, `CSI n;m~` and `CSI n;mu`.
const MODIFIER_VALUES = 17;
const NUMBERS = 128;
const LETTER_AT = 4 * 128;
const TILDE_AT = LETTER_AT + 128 * MODIFIER_VALUES;
const UNICODE_AT = TILDE_AT + NUMBERS * MODIFIER_VALUES;
const PLACES = UNICODE_AT + NUMBERS * MODIFIER_VALUES;

/** Returns the index of a sequence in the table, or -1. */
function placeOf(data: string): number {
  const length = data.length;
  const first = data.charCodeAt(0);
  if (length === 1) return first < 128 ? first : -1;
  if (first !== 0x1b) return -1;
  const second = data.charCodeAt(1);
  if (length === 2) return second < 128 ? 128 + second : -1;
  if (second !== 0x5b) return length === 3 && second === 0x4f && data.charCodeAt(2) < 128 ? 384 + data.charCodeAt(2) : -1;
  const last = data.charCodeAt(length - 1);
  if (length === 3) return last < 128 ? 256 + last : -1;
  if (length > 9 || last > 127) return -1;
  let number = 0;
  let modifier = 0;
  let at = 2;
  for (; at < length - 1; at++) {
    const digit = data.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) break;
    number = number * 10 + digit;
  }
  // Each index has one spelling: `CSI 1;5A`, not `CSI 01;05A`.
  if (at === 2 || number >= NUMBERS || data.charCodeAt(2) === 0x30) return -1;
  if (at < length - 1) {
    const start = at + 1;
    if (data.charCodeAt(at) !== 0x3b || start === length - 1 || data.charCodeAt(start) === 0x30) return -1;
    for (at = start; at < length - 1; at++) {
      const digit = data.charCodeAt(at) - 0x30;
      if (digit < 0 || digit > 9) return -1;
      modifier = modifier * 10 + digit;
    }
    if (modifier >= MODIFIER_VALUES) return -1;
  }
  if (last === 0x75) return UNICODE_AT + number * MODIFIER_VALUES + modifier;
  if (last === 0x7e) return TILDE_AT + number * MODIFIER_VALUES + modifier;
  return number === 1 && modifier > 0 ? LETTER_AT + last * MODIFIER_VALUES + modifier : -1;
}

/** The addon's bit for a sequence that matches several ids. */
const AMBIGUOUS = 0x80000000;

/** The addon's answers for one mode, by index. */
interface Table {
  /** `undefined` until the sequence is first parsed. */
  readonly ids: (string | null | undefined)[];
  /** 1 for a sequence that matches several ids. */
  readonly ambiguous: Uint8Array;
}

const newTable = (): Table => ({ ids: new Array<string | null | undefined>(PLACES).fill(undefined), ambiguous: new Uint8Array(PLACES) });
const LEGACY = newTable();
const KITTY = newTable();

function ask(table: Table, place: number, data: string): string | null {
  const packed = native.parseKey(data, table === KITTY);
  table.ambiguous[place] = packed < AMBIGUOUS ? 0 : 1;
  return (table.ids[place] = idOf(packed));
}

/** Every id that `parseKey` returns for ASCII and named keys; the addon handles other spellings. */
let written: ReadonlySet<string> | undefined;

function writtenIds(): ReadonlySet<string> {
  const keys = [...native.keyNames(), ...Array.from({ length: 94 }, (_, code) => String.fromCharCode(code + 0x21))];
  const small = keys.filter((key) => key.length > 1 || key === key.toLowerCase());
  return (written = new Set(PREFIXES.flatMap((prefix) => small.map((key) => prefix + key))));
}

function flag(call: string, value: boolean | null | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw typeError(`${call}: kittyActive`, "a boolean", value);
  return value;
}

/**
 * Returns the id of the key that `data` represents: `a`, `ctrl+c`, `shift+alt+pageUp`. Modifiers are in the order
 * `ctrl+shift+alt+super`. Letters are lower case; a capital letter is `shift+` and its letter.
 *
 * @param data - One complete sequence, as a `StdinBuffer` emits it.
 * @param kittyActive - True if the terminal has enabled Kitty's keyboard protocol. Default false.
 * @returns `null` for a release, a modifier alone, mouse, focus, replies, and unknown sequences; with Kitty's protocol
 *   also for an ESC before a character, which means alt without it.
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { parseKey } from "@sinew/natives";
 * parseKey("\x1b[1;5A", false); // "ctrl+up"
 * ```
 */
export function parseKey(data: string, kittyActive?: boolean): string | null {
  if (typeof data !== "string") string("parseKey: data", data);
  const kitty = kittyActive === true || flag("parseKey", kittyActive);
  const place = placeOf(data);
  if (place >= 0) {
    const table = kitty ? KITTY : LEGACY;
    const known = table.ids[place];
    return known === undefined ? ask(table, place, data) : known;
  }
  return idOf(native.parseKey(data, kitty));
}

/**
 * Returns whether `data` is a press of the key `keyId`. Modifiers can be in any order and case; `esc` and `return` are
 * accepted. A sequence that several keys send matches each of them: without Kitty's protocol, a tab is also `ctrl+i`, a
 * line feed `ctrl+j`, a carriage return `ctrl+m` and 0x08 `ctrl+h`. A key of another script also matches by its
 * position on the keyboard.
 *
 * @param kittyActive - True if the terminal has enabled Kitty's keyboard protocol. Default false.
 * @returns False also for an unknown id, and for all sequences for which {@link parseKey} returns `null`.
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { matchesKey } from "@sinew/natives";
 * matchesKey("\x03", "Ctrl+C", false); // true
 * ```
 */
export function matchesKey(data: string, keyId: string, kittyActive?: boolean): boolean {
  if (typeof data !== "string") string("matchesKey: data", data);
  if (typeof keyId !== "string") string("matchesKey: keyId", keyId);
  const kitty = kittyActive === true || flag("matchesKey", kittyActive);
  const place = placeOf(data);
  if (place >= 0) {
    const table = kitty ? KITTY : LEGACY;
    let id = table.ids[place];
    if (id === undefined) id = ask(table, place, data);
    if (id === keyId) return true;
    if (table.ambiguous[place] === 0 && (id === null || (written ?? writtenIds()).has(keyId))) return false;
  }
  return native.matchesKey(data, keyId, kitty);
}

/**
 * Returns the fields of a sequence of Kitty's protocol: `CSI … u`, `CSI … ~`, `CSI 1;m<letter>`; `null` for anything
 * else.
 *
 * @throws TypeError when `data` is not a string.
 * @example
 * ```js
 * import { parseKittySequence } from "@sinew/natives";
 * parseKittySequence("\x1b[97;5u"); // { codepoint: 97, modifier: 4 }
 * ```
 */
export function parseKittySequence(data: string): ParsedKittyResult | null {
  return native.parseKittySequence(string("parseKittySequence: data", data)) as ParsedKittyResult | null;
}

/**
 * Returns whether `data` is a press of `codepoint` with `modifier` (the bits of {@link ParsedKittyResult}; lock keys are
 * ignored). If the pressed key is not an ASCII letter or symbol, the base layout is compared.
 *
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { matchesKittySequence } from "@sinew/natives";
 * matchesKittySequence("\x1b[1089::99;5u", 99, 4); // true
 * ```
 */
export function matchesKittySequence(data: string, codepoint: number, modifier: number): boolean {
  string("matchesKittySequence: data", data);
  if (typeof codepoint !== "number") throw typeError("matchesKittySequence: codepoint", "a number", codepoint);
  if (typeof modifier !== "number") throw typeError("matchesKittySequence: modifier", "a number", modifier);
  // Sequences contain no other numbers.
  if ((codepoint | 0) !== codepoint || modifier >>> 0 !== modifier) return false;
  return native.matchesKittySequence(data, codepoint, modifier);
}

/**
 * Returns whether `data` is the key `keyName` in a form without a keyboard protocol: a single byte, ESC and a key, or a
 * sequence of xterm, rxvt or the Linux console.
 *
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { matchesLegacySequence } from "@sinew/natives";
 * matchesLegacySequence("\x1bOP", "f1"); // true
 * ```
 */
export function matchesLegacySequence(data: string, keyName: string): boolean {
  return native.matchesLegacySequence(
    string("matchesLegacySequence: data", data),
    string("matchesLegacySequence: keyName", keyName),
  );
}
