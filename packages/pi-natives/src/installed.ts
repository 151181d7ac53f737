/**
 * Fails when the module is loaded in the place of a version of pi-natives that it does not have.
 * @module
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkVersion } from "./override.js";

checkVersion(dirname(fileURLToPath(import.meta.url)));
