//! Tests the screen with terminal emulators: property tests, golden frames and tables.

mod blocks;
mod cursor_behind_text;
mod editor_laws;
mod erase_all;
mod frame_laws;
mod golden;
mod input_laws;
mod linear_laws;
mod looks;
mod resize_laws;
mod screen_laws;
mod stream_laws;
mod support;
mod terminal_laws;
mod vi;
mod viewer;
