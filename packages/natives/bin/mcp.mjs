// A server of the Model Context Protocol over standard input and output, which offers the searches of this package to
// any agent. Requests of the revision 2026-07-28 need no handshake; older clients begin with one.
import { constants } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, isAbsolute, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import { Workspace, fuzzyFind, glob, grep, htmlToMarkdown } from "../dist/index.mjs";

const { version } = createRequire(import.meta.url)("../package.json");
const INFO = { name: "sinew-natives", version };
const MODERN = ["2026-07-28"];
const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META = "io.modelcontextprotocol/";
/** The time for which clients may cache the list of tools, which never changes. */
const LIST_TTL_MS = 3_600_000;
/** The maximum number of bytes of a line, of a file that is read, and of a result. */
const LINE = 16_000_000;
const FILE = 64 << 20;
const RESULT = 50 << 10;
/** The maximum number of rows of a result. */
const ROWS = 1000;
/** Opens a file without blocking, because a pipe without a writer would block the thread. Windows has neither flag. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
/** The time without a search after which a workspace is closed. */
const IDLE_MS = 600_000;

class Refusal extends Error {}

/** An error of the protocol. */
const failure = (code, message, data) => Object.assign(new Error(message), { code, data });

const text = (description) => ({ type: "string", ...(description && { description }) });
const whole = (description) => ({ type: "integer", minimum: 1, ...(description && { description }) });
const flag = (description) => ({ type: "boolean", description });
const PATH = text("file or folder; default: the first root");

/** The tools: name, description, arguments, required arguments, and implementation. */
const TOOLS = [
  ["grep", "Search file contents with a regular expression (Rust syntax). Ignored files are left out.",
    { pattern: text(), path: PATH, glob: text("e.g. *.ts"), ignoreCase: flag("ignore upper and lower case"), literal: flag("the pattern is plain text"), context: whole("lines around a match"), limit: whole("default: 100") },
    ["pattern"], async ({ path, limit = 100, ...rest }, { at, by, signal }) => {
      const place = await at(path);
      const { matches, limitReached, warnings } = await by(place).grep({ ...rest, path: place, maxCount: Math.min(limit, ROWS), maxColumns: 500, cache: true, signal });
      const files = new Map();
      for (const row of matches) files.set(row.path, [...(files.get(row.path) ?? []), row]);
      const lines = (rows) => rows.flatMap(({ contextBefore = [], lineNumber, line, contextAfter = [] }) => [
        ...contextBefore.map((row) => `${row.lineNumber}-${row.line}`), `${lineNumber}:${line}`, ...contextAfter.map((row) => `${row.lineNumber}-${row.line}`),
      ]);
      const shown = [...files].map(([path, rows]) => [path, ...lines(rows)].join("\n")).join("\n\n");
      return [shown || "No matches found", limitReached && `${matches.length} matches shown. Use limit, or refine the pattern.`, ...(warnings ?? [])];
    }],
  ["find", "Find files by glob, newest first: *.ts at any depth, src/*.ts in src only. Ignored files are left out.",
    { pattern: text(), path: PATH, limit: whole("default: 200") },
    ["pattern"], async ({ pattern, path, limit = 200 }, { at, by, signal }) => {
      const [most, place] = [Math.min(limit, ROWS), await at(path)];
      const { matches, warnings } = await by(place).glob({ pattern, path: place, maxResults: most + 1, sortByMtime: true, cache: true, signal });
      const shown = matches.slice(0, most).map((row) => row.path).join("\n");
      return [shown || "No files found", matches.length > most && `More than ${most}. Use limit, or refine the pattern.`, ...(warnings ?? [])];
    }],
  ["fuzzy_find", "Find files and folders whose path has the letters of a query, best first. Ignored files are left out.",
    { query: text("letters of the path, words in any order"), path: PATH, limit: whole("default: 20") },
    ["query"], async ({ query, path, limit = 20 }, { at, by, signal }) => {
      const place = await at(path);
      const { matches, totalMatches, warnings } = await by(place).fuzzyFind({ query, path: place, maxResults: Math.min(limit, ROWS), cache: true, signal });
      const paths = matches.map((row) => (row.isDirectory ? `${row.path}/` : row.path));
      return [paths.join("\n") || "No files found", totalMatches > paths.length && `${paths.length} of ${totalMatches}: use limit, or a longer query`, ...(warnings ?? [])];
    }],
  ["read", "Read a text file: <line>:<text>, up to 2,000 lines.",
    { path: text(), offset: whole("first line"), limit: whole("number of lines") },
    ["path"], async ({ path, offset = 1, limit = 2000 }, { opened }) => {
      const bytes = await opened(path);
      if (bytes.includes(0)) return [`Binary file: ${path}. Not shown.`];
      const lines = bytes.toString("utf8").replace(/\n$/, "").split("\n");
      const shown = lines.slice(offset - 1, offset - 1 + Math.min(limit, 2000));
      if (!shown.length) return [`Line ${offset} is beyond end of file (${lines.length} lines total).`];
      const end = offset + shown.length - 1;
      return [shown.map((line, at) => `${offset + at}:${line}`).join("\n"), end < lines.length && `Showing lines ${offset}-${end} of ${lines.length}. Use offset=${end + 1} to continue.`];
    }],
  ["ls", "List a folder.", { path: PATH }, [], async ({ path }, { at }) => {
    const entries = await readdir(await at(path), { withFileTypes: true });
    const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
    return [names.slice(0, ROWS).join("\n") || "The folder is empty.", names.length > ROWS && `${ROWS} of ${names.length} entries.`];
  }],
  ["html_to_markdown", "Turn HTML into Markdown.", { html: text(), clean: flag("leave out navigation, forms and the like") },
    ["html"], async ({ html, clean = false }, { signal }) => [await htmlToMarkdown(html, { cleanContent: clean, signal })]],
].map(([name, description, properties, required, work]) => ({
  definition: { name, description, inputSchema: { type: "object", properties, required, additionalProperties: false }, annotations: { readOnlyHint: true } },
  work,
}));

/**
 * Searches directories with a workspace. The first search of a directory opens its workspace in the background; until it
 * is open, searches walk. The results are the same.
 */
function keep(roots) {
  const plain = { grep, glob, fuzzyFind };
  const kept = new Map(roots.map((root) => [root, {}]));
  const close = async (folder) => {
    clearTimeout(folder.idle);
    const workspace = await folder.opening;
    folder.opening = folder.workspace = undefined;
    await workspace?.close();
  };
  const open = async (root, folder) => {
    const workspace = await Workspace.open(root);
    await workspace.changes();
    if (workspace.status().mode !== "plain") folder.workspace = workspace;
    return workspace;
  };
  return {
    by(path) {
      const root = roots.find((root) => isBelow(path, root));
      const folder = kept.get(root);
      // If the workspace cannot be opened, searches walk.
      folder.opening ??= open(root, folder).catch(() => undefined);
      clearTimeout(folder.idle);
      folder.idle = setTimeout(close, IDLE_MS, folder).unref();
      return folder.workspace ?? plain;
    },
    close: () => Promise.all([...kept.values()].map(close)),
  };
}

const isBelow = (path, root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** Returns the error in the arguments of a tool; undefined if they are valid. */
function fault({ properties, required }, given) {
  const missing = required.find((name) => given[name] === undefined);
  if (missing) return `/${missing} is missing`;
  for (const [name, value] of Object.entries(given)) {
    const type = properties[name]?.type;
    if (!type) return `/${name} is not an argument of this tool`;
    const fits = type === "integer" ? Number.isSafeInteger(value) && value >= 1 : typeof value === type;
    if (!fits) return `/${name} must be a ${type === "integer" ? "whole number from 1" : type}`;
  }
  return undefined;
}

/** Runs the server until standard input ends. */
export async function serve(argv) {
  const { values } = parseArgs({ args: argv, options: { root: { type: "string", multiple: true } } });
  const roots = await Promise.all((values.root ?? ["."]).map((root) => realpath(resolve(root))));
  /** The directories at the paths of the roots when the server started. */
  const folders = await Promise.all(roots.map((root) => stat(root, { bigint: true })));
  roots.forEach((root, at) => {
    if (!folders[at].isDirectory()) throw new Error(`--root ${root}: not a folder`);
  });
  const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const below = (path) => roots.some((root) => isBelow(path, root));
  const searches = keep(roots);
  const calls = new Map();
  let greeted = false;

  /** Throws if another directory has replaced a root, because the user gave access only to the original one. */
  async function unmoved() {
    for (const [at, root] of roots.entries()) {
      const now = await stat(root, { bigint: true }).catch(() => undefined);
      if (now?.dev !== folders[at].dev || now.ino !== folders[at].ino) throw new Refusal(`Refused: ${root} was replaced by another folder since the server started; restart the server`);
    }
  }

  /**
   * Resolves a path of a request, including links. A missing file is resolved by the directory that would contain it.
   */
  async function at(named = ".") {
    let path = isAbsolute(named) ? resolve(named) : resolve(roots[0], named);
    const asked = path;
    for (;;) {
      const real = await realpath(path).catch(() => undefined);
      if (real !== undefined && !below(real)) throw new Refusal(`Refused: ${named} is outside of ${roots.join(", ")}`);
      if (real !== undefined && path === asked) {
        // Other types of files can be endless, or have side effects when they are opened.
        const facts = await stat(real);
        if (!facts.isFile() && !facts.isDirectory()) throw new Refusal(`${named} is a pipe, a socket or a device`);
        return real;
      }
      if (real !== undefined || dirname(path) === path) throw new Refusal(`File not found: ${named}`);
      path = dirname(path);
    }
  }

  /** Reads a file. It is opened before it is checked, so that later changes of the path have no effect. */
  async function opened(named) {
    const path = await at(named);
    const file = await open(path, READ);
    try {
      const facts = await file.stat();
      if (!facts.isFile()) throw new Refusal(`${named} is not a file`);
      if (facts.size > FILE) throw new Refusal(`${named} is larger than ${FILE >> 20} MB`);
      const now = process.platform === "linux" ? await realpath(`/proc/self/fd/${file.fd}`) : await realpath(path);
      if (!below(now)) throw new Refusal(`Refused: ${named} is outside of ${roots.join(", ")}`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  }

  /** Calls a tool. */
  async function call(id, { name, arguments: given = {} }) {
    const tool = TOOLS.find(({ definition }) => definition.name === name);
    if (!tool) throw failure(-32602, `Unknown tool: ${name}`);
    if (calls.has(id)) throw failure(-32600, "the id is already in use");
    const wrong = given === null || typeof given !== "object" || Array.isArray(given) ? "/arguments must be an object" : fault(tool.definition.inputSchema, given);
    if (wrong) return { content: [{ type: "text", text: wrong }], isError: true };
    const stop = new AbortController();
    calls.set(id, stop);
    try {
      await unmoved();
      const [shown, ...notes] = await tool.work(given, { at, opened, by: searches.by, signal: stop.signal });
      // If a root was moved during the call, nothing about it is returned.
      await unmoved();
      const bytes = Buffer.from(shown);
      const cut = bytes.length > RESULT;
      const told = [...notes, cut && `Cut after ${RESULT >> 10} KB of ${bytes.length >> 10} KB.`].filter(Boolean).map((note) => `\n[${note}]`);
      // The cut may be inside a character, which then decodes to U+FFFD.
      const body = cut ? bytes.subarray(0, RESULT).toString("utf8").replace(/\ufffd$/, "") : shown;
      return { content: [{ type: "text", text: body + told.join("") }], isError: false };
    } catch (cause) {
      return { content: [{ type: "text", text: cause.message }], isError: true };
    } finally {
      calls.delete(id);
    }
  }

  const modern = (result) => ({ resultType: "complete", ...result, _meta: { [`${META}serverInfo`]: INFO } });
  const lasting = { ttlMs: LIST_TTL_MS, cacheScope: "public" };
  const instructions = `Tools for files below ${roots.join(", ")}. Relative paths begin in ${roots[0]}.`;

  /** Returns true if a request uses the revision that needs no handshake. */
  function isModern(method, meta) {
    const asked = meta?.[`${META}protocolVersion`];
    if (asked === undefined) {
      if (["initialize", "ping"].includes(method) || (greeted && method !== "server/discover")) return false;
      throw failure(-32602, `/params/_meta lacks "${META}protocolVersion": send it with every request, or initialize first`);
    }
    if (!MODERN.includes(asked)) throw failure(-32022, "Unsupported protocol version", { supported: MODERN, requested: asked });
    if (typeof meta[`${META}clientCapabilities`] !== "object") throw failure(-32602, `/params/_meta lacks "${META}clientCapabilities"`);
    return true;
  }

  async function answer(id, method, params) {
    const wrap = isModern(method, params?._meta) ? modern : (result) => result;
    switch (method) {
      case "initialize": {
        greeted = true;
        const protocolVersion = LEGACY.includes(params?.protocolVersion) ? params.protocolVersion : LEGACY[0];
        return { protocolVersion, capabilities: { tools: {} }, serverInfo: INFO, instructions };
      }
      case "server/discover":
        return wrap({ supportedVersions: MODERN, capabilities: { tools: {} }, instructions, ...lasting });
      case "ping":
        return {};
      case "tools/list":
        return wrap({ tools: TOOLS.map(({ definition }) => definition), ...(wrap === modern && lasting) });
      case "tools/call":
        return wrap(await call(id, params ?? {}));
      default:
        throw failure(-32601, `Method not found: ${method}`);
    }
  }

  async function receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch (cause) {
      return write({ id: null, error: { code: -32700, message: `Not a message: ${cause.message}` } });
    }
    const { id, method, params } = message ?? {};
    if (method === "notifications/cancelled") return void calls.get(params?.requestId)?.abort();
    // A notification, or an answer without a request.
    if (typeof method !== "string" || id === undefined) return undefined;
    const stopped = () => calls.get(id)?.signal.aborted;
    let cancelled = false;
    try {
      const running = answer(id, method, params);
      calls.get(id)?.signal.addEventListener("abort", () => (cancelled = true));
      const result = await running;
      return cancelled || stopped() ? undefined : write({ id, result });
    } catch ({ code, message, data }) {
      // The codes of system errors are strings.
      return write({ id, error: { code: Number.isInteger(code) ? code : -32603, message, ...(data && { data }) } });
    }
  }

  let rest = [];
  let size = 0;
  let skipping = false;
  for await (const chunk of process.stdin) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      if (skipping || size + end - from > LINE) {
        write({ id: null, error: { code: -32700, message: `Not a message: the line is longer than ${LINE} bytes` } });
      } else {
        const line = Buffer.concat([...rest, chunk.subarray(from, end)]).toString("utf8").trim();
        if (line) void receive(line);
      }
      [rest, size, skipping, from] = [[], 0, false, end + 1];
    }
    size += chunk.length - from;
    skipping ||= size > LINE;
    if (skipping) rest = [];
    else rest.push(chunk.subarray(from));
  }
  calls.forEach((stop) => stop.abort());
  await searches.close();
}
