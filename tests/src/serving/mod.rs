//! Workers that serve a model, alone or as a ring, and clients that ask them.

mod http;
mod model;
mod question;
mod ring;
mod server;

pub use http::{head, Reply};
pub use model::lively_model;
pub use question::{Answers, Question, Streamed};
pub use ring::{Holder, Ring};
pub use server::Server;
pub(crate) use server::{said, word_behind, SOON};
