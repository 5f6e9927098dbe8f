//! Text from a model.

mod chat;
mod engine;
pub mod folder;
pub mod generate;
mod model;
mod parameters;
mod printable;
mod source;
pub mod text;

pub use chat::{Chat, ChatError, Message};
pub use engine::{Engine, Readiness};
pub use model::{Card, Model, ModelError};
pub use parameters::{Parameters, ParametersError, Shape};
pub use printable::{printable, printable_line};
pub use source::Source;
