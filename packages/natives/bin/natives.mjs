#!/usr/bin/env node
// npx @sinew/natives COMMAND: the commands of the package.
import { fileURLToPath } from "node:url";
import { basename } from "node:path";

const HELP = `npx @sinew/natives COMMAND

Commands:
  mcp [--root DIR]...   run an MCP server (Model Context Protocol) on standard input and output: offer grep, find, fuzzy_find, read, ls
                        and html_to_markdown to an agent, for files below the roots (default: the working directory)
`;

const [command, ...args] = process.argv.slice(2);
if (command === "mcp") {
  const { serve } = await import("./mcp.mjs");
  await serve(args).catch((cause) => {
    process.stderr.write(`${basename(fileURLToPath(import.meta.url))} mcp: ${cause.message}\n`);
    process.exitCode = 2;
  });
} else {
  (command === undefined || command === "--help" ? process.stdout : process.stderr).write(HELP);
  process.exitCode = command === undefined || command === "--help" ? 0 : 2;
}
