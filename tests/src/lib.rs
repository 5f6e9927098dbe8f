//! Local networks of real node and worker processes: what the devnet, other programs for measuring and testing, and the end-to-end tests
//! start, watch and stop.
//!
//! Every process gets its own folder, keys, ports and log file, listens on the loopback interface only, and dies with the process
//! that started it, however that ends.

mod audits;
mod authorities;
mod binaries;
mod blocks;
mod caught;
mod cheat;
mod error;
mod flood;
mod invariants;
mod kept;
mod limited;
mod machine;
mod made;
mod model;
mod network;
mod nodes;
mod options;
mod pace;
mod ports;
mod preset;
mod process;
mod program;
mod provider;
mod rules;
mod service;
mod serving;
mod spec;
mod sponsor;
mod summary;
mod swindle;
mod tokens_per_second;
mod trial;
mod validator;
mod verdicts;
mod view;
mod wait;
mod worker;

pub use audits::{AuditSummary, AuditorSummary};
pub use authorities::{Authorities, AuthorityClient, SessionKeys};
pub use binaries::Binaries;
pub use blocks::{Chain, Connection, Done, Ordinary};
pub use caught::CheaterSummary;
pub use cheat::{Cheat, Cheater};
pub use error::Error;
pub use flood::{Flood, Flooded};
pub use kept::kept_unless_passed;
pub use limited::{even_units, Limited, Memory, Size};
pub use machine::Machine;
pub use made::made_dataset;
pub use model::{kept_folder, Model};
pub use network::{Layout, Network};
pub use nodes::{Nodes, Start};
pub use options::told_by;
pub use pace::{pace, set_pace, slot, SLOT};
pub use ports::Ports;
pub use preset::Preset;
pub use process::{Ended, Process};
pub use program::{exit_code, in_temporary_folder, write_json};
pub use provider::{Gateway, Provider};
pub use rules::{AnswerRules, AuditRules, Rules};
pub use service::Service;
pub use serving::{head, lively_model, Answers, Holder, Question, Reply, Ring, Server, Streamed};
pub use sponsor::{registry_texts, Prepared, Text, Tokens, Training};
pub use summary::{newest_sample, BytesOfWorker, Minted, RoundSummary, Summary};
pub use swindle::{Swindle, User};
pub use trial::{Terms, Trial};
pub use validator::{Keys, Validator};
pub use verdicts::{ClaimSummary, Decided, DisputeSummary, Verdicts};
pub use view::View;
pub use wait::{unless_away, until, within};
pub use worker::WorkerNode;
