//! The parts of the node that need none of its services: its JSON-RPC server and namespace, patches of the SDK, and where compiled code is kept. They are a library so that they are tested without compiling the binary a second time.

/// The binary's command line, compiled here too for tests and for its reference.
pub mod cli;
pub mod namespace;
pub mod patches;
pub mod server;
pub mod wasm_cache;
