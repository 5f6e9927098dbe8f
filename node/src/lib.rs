//! The parts of the node that need none of its services: where it listens, its JSON-RPC server and namespace, what becomes of equivocation, what goes to
//! peers, and where compiled code is kept. They are a library so that they are tested without compiling the binary a second time.

pub mod bound;
/// The binary's command line, compiled here too for tests and for its reference.
pub mod cli;
pub mod equivocation;
pub mod exporter;
pub mod gossip;
pub mod last_peer;
pub mod listening;
pub mod namespace;
pub mod reports;
pub mod server;
pub mod slots;
pub mod wasm_cache;
