// Finds the imports of @oh-my-pi/pi-natives in the source of an agent, and those that are not supported.

/** The values (not types) that a source imports, as `{ from, name }`. */
export function importsOf(source) {
  const found = [];
  const add = (path, names) => names.forEach((name) => found.push({ from: `.${path}`, name }));
  const listed = (text) => text.split(",").map((name) => name.trim()).filter((name) => name && !name.startsWith("type ")).map((name) => name.split(/\s+as\s+|\s*:\s*/)[0]);
  for (const [, names, path] of source.matchAll(/\b(?:import|export)\s*\{([^}]*)\}\s*from\s*["']@oh-my-pi\/pi-natives([^"']*)["']/g)) add(path, listed(names));
  for (const [, names, path] of source.matchAll(/\{([^{}]*)\}\s*=\s*await import\(["']@oh-my-pi\/pi-natives([^"']*)["']\)/g)) add(path, listed(names));
  for (const [, alias, path] of source.matchAll(/\bimport\s*\*\s*as\s+(\w+)\s+from\s*["']@oh-my-pi\/pi-natives([^"']*)["']/g)) {
    // Names with a capital are types, or classes and lists of values, which are imported by name.
    const members = source.matchAll(new RegExp(`(?<![\\w.$])${alias}\\.([a-z]\\w*)`, "g"));
    add(path, [...new Set([...members].map(([, name]) => name))]);
  }
  return found.filter(({ from, name }, at) => found.findIndex((other) => other.from === from && other.name === name) === at);
}

/** Describes the imports that are not in the table, or that it lists as missing. */
export function unsupportedImports({ exports }, imports) {
  return imports.flatMap(({ from, name }) => {
    const row = exports.find((each) => each.from === from && each.name === name);
    if (!row) return [`${from} ${name}: not in the table`];
    return row.state === "missing" ? [`${from} ${name}: missing (${row.reason})`] : [];
  });
}
