//! Text from a model.

pub mod generate;
mod printable;

pub use printable::{printable, printable_line};
