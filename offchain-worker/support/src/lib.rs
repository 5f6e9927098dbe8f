//! Small things that all parts of the worker use: files of JSON, words for numbers of things, text for terminals, and the machine's hardware.

pub mod counted;
pub mod hardware;
pub mod json_file;
pub mod printable;
