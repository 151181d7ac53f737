/**
 * The entry of `/vcs` for Bun. Bun runs a CommonJS module before it links the imports of an agent, so that an unsupported
 * version is reported by its own error, and not as the first export that it lacks.
 */
require("../installed.js");
module.exports = require("../vcs.js");
