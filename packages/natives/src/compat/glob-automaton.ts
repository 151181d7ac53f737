/**
 * Matches glob patterns in bounded time: every state of the pattern is visited once for each position of the text.
 * @module
 */
import type { Node } from "./glob-nodes.js";

type Step =
  | { op: "set"; accepts: (char: string) => boolean; next: number }
  | { op: "split"; next: number[] }
  | { op: "look"; body: number; negative: boolean; next: number }
  | { op: "start" | "end"; next: number }
  | { op: "match" };

/** Matches whole texts against a pattern. @internal */
export class Automaton {
  readonly #steps: Step[] = [{ op: "match" }];
  readonly #ignoreCase: boolean;
  readonly #entry: number;

  constructor(node: Node, ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase;
    this.#entry = this.#compile({ kind: "sequence", parts: [node, { kind: "end" }] }, 0);
  }

  /** Returns true if the pattern matches all of the text. */
  test(text: string): boolean {
    return this.#run(this.#entry, text, 0, new Map());
  }

  #add(step: Step): number {
    return this.#steps.push(step) - 1;
  }

  #acceptor(source: string): (char: string) => boolean {
    const plain = source.length === 1 ? source : /^\\[^a-zA-Z0-9]$/.test(source) ? source[1] : undefined;
    if (plain !== undefined && !this.#ignoreCase) return (char) => char === plain;
    const expression = new RegExp(`^${source}$`, this.#ignoreCase ? "i" : "");
    const known = new Map<string, boolean>();
    return (char) => {
      let accepted = known.get(char);
      if (accepted === undefined) known.set(char, (accepted = expression.test(char)));
      return accepted;
    };
  }

  /** Adds the steps of a node before the step `next`; returns the first of them. */
  #compile(node: Node, next: number): number {
    switch (node.kind) {
      case "set":
        return this.#add({ op: "set", accepts: this.#acceptor(node.source), next });
      case "sequence":
        return node.parts.reduceRight((behind, part) => this.#compile(part, behind), next);
      case "choice":
        return this.#add({ op: "split", next: node.parts.map((part) => this.#compile(part, next)) });
      case "repeat": {
        if (!node.many) return this.#add({ op: "split", next: [this.#compile(node.body, next), next] });
        const ways: number[] = [];
        const loop = this.#add({ op: "split", next: ways });
        const body = this.#compile(node.body, loop);
        ways.push(body, next);
        return node.min ? body : loop;
      }
      case "look":
        return this.#add({ op: "look", body: this.#compile(node.body, 0), negative: node.negative, next });
      case "start":
      case "end":
        return this.#add({ op: node.kind, next });
    }
  }

  /**
   * Returns true if the steps from `entry` on can reach their end from `from`. `looked` contains the results of
   * lookaheads.
   */
  #run(entry: number, text: string, from: number, looked: Map<number, boolean>): boolean {
    let current = [entry];
    for (let at = from; current.length; at++) {
      const seen = new Set(current);
      const following = new Set<number>();
      // The set grows during the iteration: a step that consumes no character adds its successors.
      for (const index of seen) {
        const step = this.#steps[index] as Step;
        if (step.op === "match") return true;
        if (step.op === "split") for (const way of step.next) seen.add(way);
        else if (step.op === "set") {
          if (at < text.length && step.accepts(text[at] as string)) following.add(step.next);
        } else if (step.op === "look") {
          if (this.#look(step.body, text, at, looked) !== step.negative) seen.add(step.next);
        } else if (step.op === "start" ? at === 0 : at === text.length) seen.add(step.next);
      }
      current = [...following];
    }
    return false;
  }

  #look(body: number, text: string, at: number, looked: Map<number, boolean>): boolean {
    const key = body * (text.length + 1) + at;
    let found = looked.get(key);
    if (found === undefined) looked.set(key, (found = this.#run(body, text, at, looked)));
    return found;
  }
}
