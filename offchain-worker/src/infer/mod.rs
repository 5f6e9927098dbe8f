//! Text from a model.

mod chat;
mod engine;
pub mod folder;
pub mod generate;
mod identity;
mod model;
mod parameters;
mod printable;
mod source;
mod spelling;
pub mod text;

pub use chat::{Chat, ChatError, Message};
pub use engine::{Engine, Readiness};
pub use model::{Card, Model, ModelError};
pub use parameters::{Parameters, ParametersError, Shape};
pub use printable::{printable, printable_line};
pub use source::Source;
pub use spelling::{escaped, Offsets};
