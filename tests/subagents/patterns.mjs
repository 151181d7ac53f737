// Matches events, files and numbers with the patterns of the stories.

/** Operators: an object with one of these keys compares the value itself. `has` alone does so too. */
const OPERATORS = {
  "<=": (limit, value) => typeof value === "number" && value <= limit,
  ">=": (limit, value) => typeof value === "number" && value >= limit,
  has: hasText,
  in: (choices, value) => choices.some((choice) => fits(choice, value)),
  list: (items, value) => Array.isArray(value) && value.length === items.length && items.every((item, index) => fits(item, value[index])),
  not: (pattern, value) => !fits(pattern, value),
};

/** Whether the JSON of a value contains a text, as it is or as a part of a string. */
function hasText(text, value) {
  if (value === undefined) return false;
  const json = JSON.stringify(value);
  return json.includes(text) || json.includes(JSON.stringify(text).slice(1, -1));
}

/**
 * Whether a value fits a pattern. An object fits if each key fits, a list if each element fits some element of the value; operators are `{has}`, `{in}`,
 * `{list}` (exactly these, in order), `{not}`, `{"<="}` and `{">="}`. A key that the value lacks has the value `undefined`.
 */
export function fits(pattern, value) {
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((item) => value.some((each) => fits(item, each)));
  if (pattern === null || typeof pattern !== "object") return pattern === value;
  return Object.entries(pattern).every(([key, wanted]) => {
    if (key in OPERATORS) return OPERATORS[key](wanted, value);
    return value !== null && typeof value === "object" && fits(wanted, value[key]);
  });
}

/** The number of patterns, from the first on, that values fit in this order, with any others between them. */
export function fittingInOrder(patterns, values) {
  let reached = 0;
  for (const value of values) if (reached < patterns.length && fits(patterns[reached], value)) reached += 1;
  return reached;
}

/** The text at a path such as `result.content`; the texts of a list of parts are joined. */
export function textAt(path, value) {
  const found = path.split(".").reduce((at, key) => at?.[key], value);
  if (Array.isArray(found)) return found.map((part) => part.text ?? "").join("");
  return typeof found === "string" ? found : JSON.stringify(found ?? "");
}
