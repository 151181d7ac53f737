// Writes session files of any size for benchmarks.
import { closeSync, openSync, writeSync } from "node:fs";

export const MB = 1024 * 1024;

const time = (at) => new Date(1_769_851_800_000 + at * 1000).toISOString();
const id = (at) => at.toString(16).padStart(8, "0");
const source = "    let total = items.iter().map(|item| item.price * item.count).sum::<u64>(); // \"quoted\"\n";

/** The entries of one turn: a question, a call, its output, an answer; about `bytes` of output. */
export function turn(at, bytes) {
  const parent = (n) => (n === 0 ? null : id(n - 1));
  const answer = { role: "assistant", provider: "scripted", model: "script", api: "scripted", stopReason: "stop", timestamp: 1,
    usage: { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } } };
  const messages = [
    { role: "user", content: `Question ${at}: what does this function do, and why is it slow?`, timestamp: 1 },
    { ...answer, stopReason: "toolUse", content: [{ type: "toolCall", id: `call_${at}`, name: "read", arguments: { path: "src/main.rs" } }] },
    { role: "toolResult", toolCallId: `call_${at}`, toolName: "read", content: [{ type: "text", text: source.repeat(Math.ceil(bytes / source.length)) }], isError: false, timestamp: 1 },
    { ...answer, content: [{ type: "text", text: "It adds up the prices. ".repeat(20) }] },
  ];
  return messages.map((message, n) => ({ type: "message", id: id(at + n), parentId: parent(at + n), timestamp: time(at + n), message }));
}

/** A question and an answer of 250 bytes each, for a file with very many messages. */
export function talk(at) {
  const [question, , , answer] = turn(at, 0);
  const messages = [{ ...question.message, content: [{ type: "text", text: `${question.message.content} `.repeat(4) }] }, answer.message];
  return messages.map((message, n) => ({ type: "message", id: id(at + n), parentId: at + n === 0 ? null : id(at + n - 1), timestamp: time(at + n), message }));
}

/**
 * Writes a session of `size` bytes from the entries that `next` returns. With `compacted`, only the last 50 are live.
 */
export function write(path, cwd, size, next, compacted) {
  const file = openSync(path, "w");
  let lines = [];
  let held = 0;
  const flush = () => {
    writeSync(file, lines.join(""));
    [lines, held] = [[], 0];
  };
  const put = (value) => {
    const line = `${JSON.stringify(value)}\n`;
    lines.push(line);
    held += line.length;
    if (held > 4 * MB) flush();
    return line.length;
  };
  let bytes = put({ type: "session", version: 3, id: "00000000000000aa", timestamp: time(0), cwd });
  let at = 0;
  const add = (entries) => {
    for (const entry of entries) bytes += put(entry);
    at += entries.length;
  };
  while (bytes < size) add(next(at));
  if (compacted) {
    const kept = id(at - 40);
    put({ type: "compaction", id: id(at), parentId: id(at - 1), timestamp: time(at), summary: "What was done.", firstKeptEntryId: kept, tokensBefore: 100_000 });
    at += 1;
    add(next(at));
  }
  flush();
  closeSync(file);
  return at;
}
