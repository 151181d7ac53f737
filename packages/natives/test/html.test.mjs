import assert from "node:assert/strict";
import { test } from "node:test";
import { htmlToMarkdown } from "@sinew/natives";

test("options arrive", async () => {
  const page = "<nav>n</nav><p>a <img src=u alt=x><b>b</b>";
  assert.equal(await htmlToMarkdown(page), "n\n\na ![x](u)**b**\n");
  assert.equal(await htmlToMarkdown(page, { cleanContent: true, skipImages: true }), "a **b**\n");
  assert.equal(await htmlToMarkdown(page, null), await htmlToMarkdown(page, { cleanContent: null, skipImages: undefined }));
});

test("wrong arguments are named", async () => {
  await assert.rejects(htmlToMarkdown(7), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE", message: /htmlToMarkdown: html must be a string/ });
  await assert.rejects(htmlToMarkdown("", { cleanContent: "yes" }), { name: "TypeError", message: /cleanContent must be a boolean/ });
});

test("all that a JavaScript string holds is read", async () => {
  assert.equal(await htmlToMarkdown("ä 中 😀 \ud83d x"), "ä 中 😀 \ufffd x\n");
  assert.equal(await htmlToMarkdown("a\0b"), "ab\n");
  assert.equal(await htmlToMarkdown(""), "");
});

test("depth does not end the process", async () => {
  assert.equal(await htmlToMarkdown(`${"<div>".repeat(100_000)}x`), "x\n");
});

test("a call can be ended", async () => {
  await assert.rejects(htmlToMarkdown("<p>", { signal: AbortSignal.abort("why") }), { name: "AbortError", code: "ABORT_ERR", cause: "why" });
  await assert.rejects(htmlToMarkdown("<p>", { timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
  const controller = new AbortController();
  const call = htmlToMarkdown("<p>x <b>y</b>".repeat(500_000), { signal: controller.signal });
  controller.abort();
  await assert.rejects(call, { name: "AbortError", message: /^Aborted: Signal/ });
});
