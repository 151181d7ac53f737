// The forms in which a release is installed: the files that each needs, and the commands that a user would run.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PLATFORMS } from "../lib/platforms.mjs";
import { ROOT } from "../lib/steps.mjs";

const PAGE = join(ROOT, "docs", "installing.md");

/**
 * `needs` lists what a system must have. `files` are the files of a pack, by the platform whose packages a system uses.
 * All commands start in a folder with these files.
 */
export const FORMS = [
  {
    name: "addon",
    needs: ["node"],
    files: (tag) => [/^sinew-natives-\d.*\.tgz$/, RegExp(`^sinew-natives-${tag}-\\d.*\\.tgz$`)],
    script: () => `
      echo '{"private":true}' > package.json
      npm install --no-audit --no-fund --offline ./*.tgz
      SINEW_DEV=1 node -e 'require("@sinew/natives")'
      node smoke.mjs
      node smoke.mjs --threads`,
  },
  {
    // As from a registry: npm sees the packages of all platforms and skips those of other platforms.
    name: "choice",
    needs: ["node"],
    files: () => [/^sinew-natives-.*\.tgz$/],
    script: (tag) => `
      echo '{"private":true}' > package.json
      npm install --no-audit --no-fund --offline --save-optional ./*.tgz
      chosen=$(cd node_modules/@sinew; echo natives-*)
      echo "npm has chosen $chosen"
      test "$chosen" = natives-${tag}
      node smoke.mjs visibleWidth`,
  },
  {
    name: "npm",
    needs: ["node"],
    files: (tag) => [/^sinew-sinew-\d.*\.tgz$/, RegExp(`^sinew-sinew-${agentTag(tag)}-\\d.*\\.tgz$`)],
    script: (tag) => `
      npm install --global --no-audit --no-fund --offline ./*.tgz
      SINEW=$(npm prefix --global)/bin/sinew
      $SINEW --version
      $SINEW -p --script demo.jsonl look
      npm uninstall --global --no-audit --no-fund --offline @sinew/sinew @sinew/sinew-${agentTag(tag)}`,
  },
  {
    name: "archive",
    needs: [],
    files: (tag) => [RegExp(`^sinew-.*-${processor(tag)}-unknown-linux-.*\\.tar\\.gz$`)],
    script: () => `
      mkdir prefix
      tar -xzf ./*.tar.gz --strip-components=1 -C prefix
      prefix/bin/sinew --version
      prefix/bin/sinew -p --script demo.jsonl look
      test -s prefix/share/man/man1/sinew.1`,
  },
  {
    name: "deb",
    needs: ["dpkg"],
    files: () => [/^sinew_.*_amd64\.deb$/],
    script: () => `
      dpkg --purge sinew # what an earlier failure left
      ${/^```sh root\n([\s\S]*?)^```$/m.exec(readFileSync(PAGE, "utf8"))[1]}
      sinew -p --script demo.jsonl look
      dpkg --verify sinew
      dpkg --purge sinew`,
  },
];

/** The processor of a platform, named as in Rust's targets. */
const processor = (tag) => PLATFORMS.find((platform) => platform.tag === tag).targets[0].split("-")[0];

/** The platform of the agent's package: one program runs on every Linux of a processor. */
const agentTag = (tag) => tag.replace("-musl", "");
