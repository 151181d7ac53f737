/**
 * The styles and the link that are active at a position of a text.
 * @module
 */

/** An active attribute, with the sequences that set and reset it. */
interface Attribute {
  /** Attributes of the same kind replace each other. */
  readonly kind: string;
  readonly open: string;
  /** The parameter that resets it. */
  readonly end: number;
}

/** The parameters of modifiers, each with the parameter that resets it. */
const MODIFIER_ENDS: Readonly<Record<number, number>> = {
  1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 21: 24, 51: 54, 52: 54, 53: 55,
};

/** The parameters of extended colours, each with the parameter that resets it. */
const COLOUR_ENDS: Readonly<Record<number, number>> = { 38: 39, 48: 49, 58: 59 };

const SGR = /^(?:\x1b\[|\x9b)([\d;:]*)m$/;
const LINK = /^\x1b\]8;([^;]*);(.*?)(?:\x07|\x1b\\|\x9c)$/;

/** The effect of a sequence. */
type Change =
  | { readonly set: Attribute }
  | { readonly end: number }
  | { readonly reset: true }
  | { readonly unknown: Attribute };

/** Returns the colour of a single parameter from 30 on. */
function plainColour(parameter: number): Attribute | undefined {
  const open = `\x1b[${parameter}m`;
  if ((parameter >= 30 && parameter <= 37) || (parameter >= 90 && parameter <= 97)) return { kind: "39", open, end: 39 };
  if ((parameter >= 40 && parameter <= 47) || (parameter >= 100 && parameter <= 107)) return { kind: "49", open, end: 49 };
  return undefined;
}

/** Returns the number of parameters after `38`, `48` or `58` that belong to it; 0 if they are not a colour. */
function colourLength(parameters: readonly string[], at: number): number {
  const count = parameters[at + 1] === "5" ? 2 : parameters[at + 1] === "2" ? 4 : 0;
  const rest = parameters.slice(at + 1, at + 1 + count);
  return rest.length === count && rest.every((part) => /^\d+$/.test(part)) ? count : 0;
}

/** The parameters that reset attributes. */
const ENDS: ReadonlySet<number> = new Set([...Object.values(MODIFIER_ENDS), ...Object.values(COLOUR_ENDS)]);

function changesOf(sequence: string): Change[] {
  const parameters = (SGR.exec(sequence)?.[1] ?? "").split(";");
  const changes: Change[] = [];
  for (let at = 0; at < parameters.length; at++) {
    const text = parameters[at] ?? "";
    const parameter = Number(text.split(":", 1)[0]);
    const end = COLOUR_ENDS[parameter];
    if (end !== undefined) {
      if (text.includes(":")) {
        changes.push({ set: { kind: String(end), open: `\x1b[${text}m`, end } });
        continue;
      }
      const length = colourLength(parameters, at);
      // The following parameters belong to an invalid colour.
      if (length === 0) return changes;
      changes.push({ set: { kind: String(end), open: `\x1b[${parameters.slice(at, at + 1 + length).join(";")}m`, end } });
      at += length;
      continue;
    }
    const modifierEnd = MODIFIER_ENDS[parameter];
    const colour = plainColour(parameter);
    if (parameter === 0) changes.push({ reset: true });
    else if (text === "4:0") changes.push({ end: 24 });
    else if (modifierEnd !== undefined) changes.push({ set: { kind: `m${parameter}`, open: `\x1b[${text}m`, end: modifierEnd } });
    else if (colour) changes.push({ set: colour });
    else if (ENDS.has(parameter)) changes.push({ end: parameter });
    else changes.push({ unknown: { kind: `u${text}`, open: `\x1b[${text}m`, end: 0 } });
  }
  return changes;
}

/** The attributes and the link that are active at a position of a text. */
export class Style {
  readonly #keepsUnknown: boolean;
  #attributes: readonly Attribute[] = [];
  #link: { readonly parameters: string; readonly target: string } | undefined;

  /** Creates an empty style. With `keepsUnknown`, unknown parameters are attributes that only a full reset removes. */
  constructor(keepsUnknown = false) {
    this.#keepsUnknown = keepsUnknown;
  }

  /** Applies an escape sequence. Only SGR and links have an effect. */
  apply(sequence: string): void {
    const link = LINK.exec(sequence);
    if (link) {
      const target = link[2] ?? "";
      this.#link = target === "" ? undefined : { parameters: link[1] ?? "", target };
    } else if (SGR.test(sequence)) {
      for (const change of changesOf(sequence)) this.#change(change);
    }
  }

  #change(change: Change): void {
    if ("unknown" in change) {
      if (this.#keepsUnknown) this.#change({ set: change.unknown });
    } else if ("reset" in change) this.#attributes = [];
    else if ("end" in change) this.#attributes = this.#attributes.filter((attribute) => attribute.end !== change.end);
    else {
      const others = this.#attributes.filter((attribute) => attribute.kind !== change.set.kind);
      this.#attributes = [...others, change.set];
    }
  }

  /** Returns a copy, which later sequences do not change. */
  copy(): Style {
    const copy = new Style(this.#keepsUnknown);
    copy.#attributes = this.#attributes;
    copy.#link = this.#link;
    return copy;
  }

  /** Returns the sequences that reset everything active, the newest first. */
  close(): string {
    const ends = this.#attributes.map((attribute) => `\x1b[${attribute.end}m`).reverse();
    return (this.#link ? "\x1b]8;;\x07" : "") + ends.join("");
  }

  /** Returns the sequences that restore this style. */
  open(): string {
    const link = this.#link ? `\x1b]8;${this.#link.parameters};${this.#link.target}\x07` : "";
    return this.#attributes.map((attribute) => attribute.open).join("") + link;
  }

  /** Returns the part of the style that the directly following `sequences` do not change. */
  without(sequences: readonly string[]): Style {
    const rest = this.copy();
    for (const sequence of sequences) {
      for (const change of SGR.test(sequence) ? changesOf(sequence) : []) {
        if ("end" in change || "reset" in change) rest.#change(change);
      }
    }
    return rest;
  }
}
