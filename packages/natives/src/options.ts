/**
 * Checks the arguments of JavaScript callers. A table per function lists the valid keys.
 * @module
 */
import { handleOf } from "./sandbox-handle.js";
import { placeOf } from "./view-place.js";

/** The types of keys; a trailing `!` makes a key required. */
export type Kind =
  | "string" | "boolean" | "u32" | "strings" | "patterns" | "env" | "environ" | "signal" | "bytes" | "stdin" | "function" | "sandbox" | "view"
  | "string!" | "u32!" | "bytes!" | "strings!"
  | readonly string[];

/** The keys of a call's options. */
export type Table = Readonly<Record<string, Kind>>;

const U32_MAX = 0xffff_ffff;

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Creates a `TypeError` with Node's code. @internal */
export function typeError(where: string, expected: string, value: unknown): TypeError {
  const error = new TypeError(`${where} must be ${expected}, not ${shown(value)}`);
  return Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
}

/** Creates the `TypeError` of a class that cannot be constructed directly. @internal */
export function illegal(name: string, from: string): TypeError {
  return Object.assign(new TypeError(`new ${name}() cannot be called: use ${from}`), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
}

/** Creates a `RangeError` with Node's code. @internal */
export function rangeError(where: string, expected: string, value: unknown): RangeError {
  const error = new RangeError(`${where} must be ${expected}, not ${shown(value)}`);
  return Object.assign(error, { code: "ERR_OUT_OF_RANGE" });
}

/** Checks a whole number from 0; larger ones become the maximum of 32 bits. @internal */
export function count(where: string, value: unknown): number {
  if (typeof value !== "number") throw typeError(where, "a number", value);
  if (!Number.isInteger(value) && value !== Infinity) throw rangeError(where, "a whole number", value);
  if (value < 0) throw rangeError(where, "0 or more", value);
  return Math.min(value, U32_MAX);
}

/** Checks a string. @internal */
export function text(where: string, value: unknown): string {
  if (typeof value !== "string") throw typeError(where, "a string", value);
  return value;
}

/** Checks bytes, which are not copied. @internal */
export function bytes(where: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw typeError(where, "a Uint8Array", value);
}

function isIterable(value: unknown): boolean {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && !ArrayBuffer.isView(value));
}

function isSignal(value: unknown): value is AbortSignal {
  return typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;
}

function checked(where: string, kind: Kind, value: unknown): unknown {
  switch (kind) {
    case "string":
    case "string!":
      return text(where, value);
    case "boolean":
      if (typeof value !== "boolean") throw typeError(where, "a boolean", value);
      return value;
    case "u32":
    case "u32!":
      return count(where, value);
    case "bytes":
    case "bytes!":
      return bytes(where, value);
    case "function":
      if (typeof value !== "function") throw typeError(where, "a function", value);
      return value;
    case "signal":
      if (!isSignal(value)) throw typeError(where, "an AbortSignal", value);
      return value;
    case "sandbox":
      if (handleOf(value) === undefined) throw typeError(where, "a Sandbox", value);
      return value;
    case "view":
      if (placeOf(value) === undefined) throw typeError(where, "an IsolatedView", value);
      return value;
    case "strings":
    case "strings!":
      if (!Array.isArray(value)) throw typeError(where, "an array of strings", value);
      return value.map((item, index) => text(`${where}[${index}]`, item));
    case "patterns":
      if (typeof value === "string") return value;
      if (!Array.isArray(value)) throw typeError(where, "a string or an array of strings", value);
      return value.map((item, index) => text(`${where}[${index}]`, item));
    case "env": {
      if (typeof value !== "object" || value === null) throw typeError(where, "an object of strings", value);
      const entries = Object.entries(value).filter(([, item]) => item !== undefined && item !== null);
      return Object.fromEntries(entries.map(([key, item]) => [key, text(`${where}.${key}`, item)]));
    }
    case "environ": {
      if (typeof value !== "object" || value === null) throw typeError(where, "an object of strings", value);
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, item === undefined || item === null ? undefined : text(`${where}.${key}`, item)]));
    }
    case "stdin":
      if (typeof value === "string" || isIterable(value)) return value;
      return bytes(where, value);
    default:
      if (typeof value !== "string" || !kind.includes(value)) {
        throw typeError(where, kind.map((word) => JSON.stringify(word)).join(" or "), value);
      }
      return value;
  }
}

const warned = new Set<string>();

/**
 * Checks the options of a call against its table: `null` counts as absent, a wrong type is a `TypeError` that names the
 * key, an invalid number a `RangeError`. Unknown keys are ignored; if `SINEW_DEV` is set, a warning names them.
 * @internal
 */
export function options<T extends object>(call: string, table: Table, given: T): { [K in keyof T]: NonNullable<T[K]> } {
  if (typeof given !== "object" || given === null) throw typeError(`${call}: options`, "an object", given);
  const result: Record<string, unknown> = {};
  for (const [key, kind] of Object.entries(table)) {
    const value = (given as Record<string, unknown>)[key];
    if (value !== undefined && value !== null) {
      result[key] = checked(`${call}: ${key}`, kind, value);
    } else if (typeof kind === "string" && kind.endsWith("!")) {
      throw typeError(`${call}: ${key}`, { "string!": "a string", "u32!": "a number", "bytes!": "a Uint8Array", "strings!": "an array of strings" }[kind as "string!"], value);
    }
  }
  if (process.env["SINEW_DEV"]) {
    for (const key of Object.keys(given)) {
      if (key in table || warned.has(`${call}.${key}`)) continue;
      warned.add(`${call}.${key}`);
      process.emitWarning(`${call}: unknown option "${key}"; known are ${Object.keys(table).join(", ")}`, "SinewWarning");
    }
  }
  return result as { [K in keyof T]: NonNullable<T[K]> };
}
