// The configuration of VitePress.
import { defineConfig } from "vitepress";
import { navigation, slug } from "./pages.mjs";

const { nav, sidebar } = navigation();

/** Shows a file name above a code block: the second word after its language. */
function namedFiles(markdown) {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index];
    const [language, name] = token.info.trim().split(/\s+/);
    // Otherwise the theme would show an unknown language.
    token.info = { jsonl: "json", output: "txt", cjs: "js" }[language] ?? language;
    const block = fence(tokens, index, ...rest);
    return name && name !== "root" ? `<p><code>${markdown.utils.escapeHtml(name)}</code></p>${block}` : block;
  };
}

export default defineConfig({
  title: "Sinew",
  description: "The native core for coding agents: an npm package, Rust crates, and a coding agent",
  lang: "en",
  cleanUrls: true,
  lastUpdated: false,
  markdown: { anchor: { slugify: slug }, config: namedFiles },
  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
  },
});
