//! What users and providers of paid answers agree on: the tally of a session's answers, and how a request says who pays for it.

mod tally;
mod word;

pub use tally::Tally;
pub use word::{read, written, Signed, SignedAsk, ASK, SESSION, VOUCHER};
