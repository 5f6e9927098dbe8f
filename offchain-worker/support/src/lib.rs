//! Small things that all parts of the worker use: backoff, work that blocks, connections to web servers, files of JSON, words for numbers of things, text
//! for terminals, the machine's hardware, and the memory of the process.

pub mod backoff;
pub mod blocking;
pub mod counted;
pub mod frames;
pub mod hardware;
pub mod https;
pub mod json_file;
pub mod memory;
pub mod printable;
