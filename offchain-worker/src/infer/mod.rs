//! Text from a model.

pub mod generate;
