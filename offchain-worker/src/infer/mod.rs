//! Text from a model.

mod chat;
mod engine;
pub mod folder;
pub mod generate;
mod model;
mod printable;
mod source;
pub mod text;

pub use chat::{Chat, ChatError, Message};
pub use engine::Engine;
pub use model::{root, Card, Model, ModelError};
pub use printable::{printable, printable_line};
pub use source::Source;
