//! A provider for tests, its terms, and answers as it gives them.

use super::{
	asked::Asked,
	ledger::{Given, Terms},
};
use neuroshard_chain_client::keys::{Account, PonwSigner, Seed};
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::sampler::Sampling;
use neuroshard_inference::{
	receipt::{Issuer, Transcript},
	Card,
};
use neuroshard_training::presets;
use neuroshard_types::{
	inference::{CheckpointId, Class, Ending, Prices, Receipt},
	AccountId, H256,
};
use std::sync::{Arc, LazyLock};

/// First block of the chain, as nodes of tests have it.
const GENESIS: H256 = {
	let mut bytes = [0; 32];
	bytes[31] = 1;
	H256(bytes)
};
const PARAMETERS: H256 = H256([5; 32]);
const PRICES: Prices = Prices { prompt: 2, generated: 5 };
/// Keys of the provider, and of somebody else.
static SIGNERS: LazyLock<[PonwSigner; 2]> = LazyLock::new(|| std::array::from_fn(|_| PonwSigner::from_seed(&Seed::random()).unwrap()));

pub(super) fn card() -> Card {
	Card::of_run("run-0".into(), &presets::tiny().0, &Tokenizer::bytes(), PARAMETERS.0).unwrap()
}

pub(super) fn user() -> Account {
	Account::from_secret("//Alice").unwrap()
}

pub(super) fn terms() -> Terms {
	let provider = AccountId::new([1; 32]);
	let [key, _] = [&SIGNERS[0], &SIGNERS[1]].map(PonwSigner::public);
	let (card, config) = (Arc::new(card()), Arc::new(neuroshard_fixtures::answers::config()));
	let checkpoint = CheckpointId { run: 0, round: 0, root: PARAMETERS };
	Terms { genesis: GENESIS, session: 7, provider, key, checkpoint, config, class: Class::ExactF32, prices: PRICES, card }
}

/// A request for one answer of three tokens to `Hi`, with seed 9.
pub(super) fn asked() -> Asked {
	let body = br#"{ "model": "run-0", "prompt": "Hi", "max_tokens": 3, "seed": 9 }"#;
	Asked::of(neuroshard_http::api::Kind::Completion, body, &card()).unwrap().0
}

/// The answer to that request which has this place in the session.
pub(super) fn given(index: u32) -> Given {
	resigned(index, 1, |_| {})
}

/// The first answer, with a receipt that says something else.
pub(super) fn receipt(change: impl FnOnce(&mut Receipt)) -> Given {
	resigned(0, 1, |transcript| change(&mut transcript.receipt))
}

/// An answer whose receipt was changed, and then signed with the provider's key (1), or another one (2).
pub(super) fn resigned(index: u32, signer: usize, change: impl FnOnce(&mut Transcript)) -> Given {
	let Terms { provider, checkpoint, prices, card, .. } = terms();
	let key = SIGNERS[signer - 1].clone();
	let issuer = Issuer {
		parameters: checkpoint.root,
		checkpoint: Some((checkpoint.run, checkpoint.round)),
		class: Class::ExactF32,
		usable: 257,
		signer: Some((provider, key.clone(), GENESIS)),
		prices,
	};
	let prompt = card.text.prompt("Hi", false).unwrap();
	let sampling = Sampling { seed: 9, ..Sampling::default() };
	let mut transcript = issuer.issue(&prompt, &[97, 98, 99], Ending::Cut, sampling, Some((7, index)));
	change(&mut transcript);
	transcript.signature = Some(key.sign_receipt(&transcript.receipt, transcript.genesis));
	Given { choice: 0, text: "abc".into(), transcript }
}
