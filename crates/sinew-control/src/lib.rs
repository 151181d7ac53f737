//! Arguments and settings of a coding agent, and the actions that every mode offers.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the command line: the table of flags and the parsed values |
//! | `config` | the environment, directories, layers of settings |
//! | `settings` | the table of settings, their layers and the typed values |
//! | `trust` | whether the user trusts the project's files that can start programs |
//! | `startup` | all of the above: everything that the program was started with |
//! | `mcp` | the MCP servers of a session |
//! | `models` | selection of the model, keys, connections |
//! | `secrets` | values that are hidden from providers and session files |
//! | `sessions` | directories and files of sessions |
//! | `resources` | skills, commands, templates and rules |
//! | `extensions` | hooks and permissions, which check each call before it runs |
//! | `sandbox` | the limits of the programs of a session |
//! | `app` | the steps of a start, and the sessions that an app opens |
//! | `actions` | the actions that every mode offers, as typed functions |
//! | `schema` | the JSON Schema of `--output-schema` |
//! | `log` | `SINEW_LOG` and `SINEW_TIMING` |
//! | `output` | stdout and stderr, with keys of providers masked |
//! | `client`, `ending` | the reader of stdout, and how long each step of the end may take |
//! | `failure` | an error that ends the program before an agent starts |
//!
//! Modules import downwards: actions → app → the rest. This crate and the modes above it are the only ones that read
//! the environment, print, and end the process.

pub mod actions;
pub mod app;
pub mod args;
pub mod client;
pub mod config;
pub mod ending;
pub mod extensions;
pub mod failure;
pub mod file_uri;
pub mod log;
pub mod mcp;
pub mod models;
pub mod output;
pub mod resources;
pub mod sandbox;
pub mod schema;
pub mod secrets;
pub mod sessions;
pub mod settings;
pub mod startup;
pub mod sys;
pub mod terminal_line;
pub mod trust;
