//! Inference: text from a model.

mod adapter;
pub mod batcher;
mod chat;
mod controls;
mod engine;
pub mod eval;
mod files;
pub mod folder;
pub mod generate;
mod identity;
mod masked;
mod model;
mod parameters;
mod prefixes;
pub mod receipt;
mod source;
mod spelling;
mod standby;
pub mod stats;
pub mod text;

pub use adapter::Adapted;
pub use chat::{Chat, ChatError, Conversation, Message, Unfit};
pub use controls::Controls;
pub use engine::{Engine, Part, Readiness};
pub use files::FileError;
pub use folder::{import, Imported};
pub use model::{Card, Model, ModelError};
pub use parameters::{Parameters, ParametersError};
pub use source::Source;
pub use spelling::{escaped, Offsets};
pub use standby::Standby;
