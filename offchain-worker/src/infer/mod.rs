//! Text from a model.

mod chat;
pub mod folder;
pub mod generate;
mod model;
mod printable;
pub mod text;

pub use chat::{Chat, ChatError, Message};
pub use model::{Model, ModelError};
pub use printable::{printable, printable_line};
