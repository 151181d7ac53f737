/**
 * Throws if the module is loaded instead of a version of pi-natives that it does not support.
 * @module
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkVersion } from "./override.js";

checkVersion(dirname(fileURLToPath(import.meta.url)));
