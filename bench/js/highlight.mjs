// Source code of several languages, beside highlight.js, cli-highlight and shiki.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const NAMES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];
const COLORS = Object.fromEntries(NAMES.map((name, index) => [name, `\x1b[38;5;${index + 1}m`]));

/** Code of a size: a sample over and over, with other names and numbers each time. */
function repeat(sample, bytes) {
  let code = "";
  for (let part = 0; code.length < bytes; part++) code += sample.replaceAll("item", `item${part % 97}`).replaceAll("42", String(part));
  return code;
}

const C = `/* Finds the item in the table of \`size\` entries. */
static int find_item(const struct table *table, const char *name, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (table->items[i].item != NULL && strcmp(table->items[i].name, name) == 0) {
            return (int)i + 42; // found
        }
    }
    fprintf(stderr, "no item \\"%s\\" in %zu entries\\n", name, size);
    return -1;
}

`;
const TYPESCRIPT = `/** Loads an item of the shop. */
export async function loadItem<T extends Item>(id: string, options: LoadOptions = {}): Promise<T | undefined> {
  const response = await fetch(\`\${options.base ?? BASE}/item/\${encodeURIComponent(id)}?limit=42\`);
  if (!response.ok) throw new RequestError("item " + id, { status: response.status, retry: true });
  return (await response.json()).items.filter((item: T) => /^[a-z]+\\/\\d$/.test(item.name))[0]; // first
}

`;
const RUST = `/// The item with a name, if the table has it.
pub fn find_item<'a, T: Named + Clone>(table: &'a Table<T>, name: &str) -> Option<&'a T> {
    let index = table.items.iter().position(|item| item.name() == name && item.weight() > 42.5)?;
    match table.items.get(index) {
        Some(item) => Some(item),
        None => panic!("no item {name:?} at {}", index), // cannot be
    }
}

`;
const PYTHON = `class ItemTable(Base, metaclass=Meta):
    """A table of items."""

    @property
    async def find_item(self, name: str, limit: int = 42, *args, **kwargs) -> Item | None:
        for index, item in enumerate(self.items):  # slow
            if item.name == name and index < limit:
                return await self.load(f"{name}-{index:>3}", encoding='utf-8')
        raise KeyError("no item %s" % name)

`;

export default async function (bench) {
  const { default: hljs } = await import("highlight.js");
  const cli = await bench.optional("cli-highlight");
  const shiki = await bench.optional("shiki");
  const peer = bench.peers ? await bench.optional("@oh-my-pi/pi-natives") : undefined;
  const require = createRequire(import.meta.url);
  // A real file of 76 KB, cut at a line.
  const script = readFileSync(require.resolve("highlight.js/lib/core"), "utf8");
  const js = script.slice(0, script.lastIndexOf("\n", 76_000) + 1);
  const cases = [
    ["javascript", js],
    ["c", repeat(C, 294_000)],
    ["typescript", repeat(TYPESCRIPT, 76_000)],
    ["rust", repeat(RUST, 76_000)],
    ["python", repeat(PYTHON, 76_000)],
  ];
  const theme = "github-dark";
  const highlighter = await shiki?.createHighlighter({ themes: [theme], langs: cases.map(([lang]) => lang) });
  for (const [lang, code] of cases) {
    await bench.compare(`${lang}, ${Math.round(code.length / 1000)} KB`, {
      sinew: () => bench.natives.highlightCode(code, lang, COLORS),
      "highlight.js": () => hljs.highlight(code, { language: lang }),
      "cli-highlight": cli && (() => cli.highlight(code, { language: lang, ignoreIllegals: true })),
      shiki: highlighter && (() => highlighter.codeToTokensBase(code, { lang, theme })),
      "pi-natives": peer?.highlightCode && (() => peer.highlightCode(code, lang, COLORS)),
    }, { targets: { "highlight.js": 0.33, "cli-highlight": 0.1, shiki: 0.1, "pi-natives": 0.5 }, rounds: 5 });
  }
}
