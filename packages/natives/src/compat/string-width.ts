/**
 * `string-width`: returns the width of a text in columns.
 * @module
 */
import { countAmbiguous, visibleWidth } from "../index.js";
import { stripEscapes } from "./escapes.js";

/** The options of `stringWidth`. */
export interface Options {
  /** Count a character of ambiguous width as one column. Default true. */
  readonly ambiguousIsNarrow?: boolean;
  /** Count escape sequences as text. Default false. */
  readonly countAnsiEscapeCodes?: boolean;
}

const ESCAPES = /[\x1b\x9b]/g;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** Signs before a number, which have no width. */
const PREPENDED = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/gu;

/** A keycap around a character without a keycap form, which keeps its width. */
const FALSE_KEYCAP = /(?<=[^0-9#*\ufe0f])\ufe0f?\u20e3/gu;

/** Letters of Indic scripts that a virama joins to the preceding letter. */
const CONJOINED = /(?<=[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d]\u200d?)\p{Lo}/gu;

const UNUSUAL = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1160-\u11ff\u20e3\ud7b0-\ud7fb\u{110bd}\u{110cd}]/u;

/** Vowels and trailing consonants of Hangul, and the runs in which they join the preceding letter. */
const JAMO = /[\u1160-\u11ff\ud7b0-\ud7fb]/g;
const SYLLABLE =
  /[\u1100-\u115f\ua960-\ua97c][\u1160-\u11a7\ud7b0-\ud7c6][\u11a8-\u11ff\ud7cb-\ud7fb]?|[\uac00-\ud7a3][\u11a8-\u11ff\ud7cb-\ud7fb]/g;

/** Letters and signs of ambiguous width that terminals and `countAmbiguous` treat as one column. */
const AMBIGUOUS_LETTERS =
  /[\xa8\xaa\xb4\xb8\xba\xc6\xd0\xd8\xde-\xe1\xe6\xe8-\xea\xec-\xed\xf0\xf2-\xf3\xf8-\xfa\xfc\xfe\u0101\u0111\u0113\u011b\u0126-\u0127\u012b\u0131-\u0133\u0138\u013f-\u0142\u0144\u0148-\u014b\u014d\u0152-\u0153\u0166-\u0167\u016b\u01ce\u01d0\u01d2\u01d4\u01d6\u01d8\u01da\u01dc\u0251\u0261\u02c4\u02c7\u02c9-\u02cb\u02cd\u02d0\u02d8-\u02db\u02dd\u02df\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c1\u03c3-\u03c9\u0401\u0410-\u044f\u0451\u207f\u2113\u2126\u212b\u2150-\u2152\u2155-\u215a\u219a-\u219b\u21ae\u21ce-\u21cf\u2204\u2209\u220c\u2224\u2226\u2241\u2249\u2262\u2270-\u2271\u2284-\u2285\u2288-\u2289\u24ea\u2574\u2616-\u2617\u2780-\u2793\u{1f10b}-\u{1f10c}]/gu;

/** Counts separate Hangul vowels and consonants, which `visibleWidth` counts although terminals do not show them. */
function loneJamo(text: string): number {
  return text.replace(SYLLABLE, "").match(JAMO)?.length ?? 0;
}

/**
 * Returns the width of `text` in a terminal; controls, tabs and lone surrogates have no width. Runs in linear time.
 *
 * @returns 0 for anything but a string.
 */
export default function stringWidth(text: string, options: Options = {}): number {
  if (typeof text !== "string" || text === "") return 0;
  // Only the introducer is a control character then; the rest of the sequence counts as text.
  const counted = options.countAnsiEscapeCodes ? text.replace(ESCAPES, "") : stripEscapes(text);
  let shown = counted.replace(LONE_SURROGATES, "");
  let more = 0;
  if (UNUSUAL.test(shown)) {
    shown = shown.replace(PREPENDED, "").replace(FALSE_KEYCAP, "").replace(CONJOINED, "");
    more = loneJamo(shown);
  }
  const width = visibleWidth(shown, 0) + more;
  return options.ambiguousIsNarrow === false ? width + countAmbiguous(shown) + (shown.match(AMBIGUOUS_LETTERS)?.length ?? 0) : width;
}
