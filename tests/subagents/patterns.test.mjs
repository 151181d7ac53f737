// Tests which values fit a pattern of the stories.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fits, fittingInOrder, textAt } from "./patterns.mjs";

const end = { type: "end", id: "One", state: "completed", turns: 2, result: { list: [{ id: "A" }, { id: "B" }] } };

const FITTING = [
  ["a key among others", { type: "end" }, end],
  ["an empty object", {}, end],
  ["keys below keys", { a: { b: 1 } }, { a: { b: 1, c: 2 } }],
  ["some element of a list", [{ id: "B" }], [{ id: "A" }, { id: "B" }]],
  ["elements in another order", ["b", "a"], ["a", "b", "c"]],
  ["exactly these elements", { list: [{ id: "A" }, {}] }, [{ id: "A", state: "x" }, { id: "B" }]],
  ["a text in a string", { error: { has: "50" } }, { error: "status 500" }],
  ["a text in the whole event", { type: "end", has: "\"B\"" }, end],
  ["a text with a line end", { has: "a\nb" }, { text: "1 a\nb 2" }],
  ["a choice", { state: { in: ["failed", "completed"] } }, end],
  ["another value", { state: { not: "failed" } }, end],
  ["a key that is missing", { error: { not: "x" } }, end],
  ["a number at the limit", { turns: { "<=": 2 } }, end],
  ["a number between limits", { turns: { ">=": 1, "<=": 3 } }, end],
  ["null", { a: null }, { a: null }],
];

const UNFITTING = [
  ["a key of another value", { type: "start" }, end],
  ["a key that is missing", { error: "x" }, end],
  ["a key of a text", { id: { length: { ">=": 9 } } }, end],
  ["an element that is missing", [{ id: "C" }], [{ id: "A" }]],
  ["a list where there is a value", ["a"], "a"],
  ["more elements than listed", { list: [{ id: "A" }] }, [{ id: "A" }, { id: "B" }]],
  ["listed elements in another order", { list: ["b", "a"] }, ["a", "b"]],
  ["a text that is elsewhere", { error: { has: "One" } }, { error: "no", id: "One" }],
  ["a text in a missing key", { error: { has: "" } }, {}],
  ["no choice", { state: { in: ["failed", "aborted"] } }, end],
  ["the same value", { state: { not: "completed" } }, end],
  ["a number over the limit", { turns: { "<=": 1 } }, end],
  ["a text as a number", { turns: { ">=": 1 } }, { turns: "2" }],
  ["a missing number", { gone: { "<=": 1 } }, end],
  ["null for a missing key", { a: null }, {}],
  ["a key of null", { a: { b: 1 } }, { a: null }],
];

for (const [name, pattern, value] of FITTING) test(`fits: ${name}`, () => assert.equal(fits(pattern, value), true));
for (const [name, pattern, value] of UNFITTING) test(`does not fit: ${name}`, () => assert.equal(fits(pattern, value), false));

test("an order has others between its patterns, and none of them twice", () => {
  const events = ["start", "x", "end", "start", "end"].map((type) => ({ type }));
  const order = (...types) => fittingInOrder(types.map((type) => ({ type })), events);
  assert.equal(order("start", "end"), 2);
  assert.equal(order("end", "start", "end"), 3);
  assert.equal(order("end", "end", "end"), 2);
  assert.equal(order("end", "x"), 1);
});

test("the text at a path joins parts", () => {
  assert.equal(textAt("result.content", { result: { content: [{ text: "a" }, { type: "image" }, { text: "b" }] } }), "ab");
  assert.equal(textAt("result", { result: "c" }), "c");
});
