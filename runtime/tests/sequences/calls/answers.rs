//! Answers that are paid for: their receipts, and what becomes of those that are audited or disputed.

use super::{
	providers::{genesis, ponw_key},
	signed, Act, Deed,
};
use neuroshard_runtime::{AccountId, Disputes, Inference, Runtime};
use neuroshard_types::{
	answer_audit::{AnswerId, Delivery},
	dataset::TextTokens,
	inference::{chained, CheckpointId, Class, Ending, Receipt, Sampling, SessionId, Tokens},
	proof::ProofSignature,
	F32, H256,
};
use pallet_neuro_disputes::{AnswerAudits, Call, DrawnAnswers};
use pallet_neuro_inference::{Offers, Sessions};
use sp_core::Pair;

/// Tokens of prompt and answer.
const TEXT: [[u32; 1]; 2] = [[65], [66]];

pub fn deed(act: &Act) -> Deed {
	match act.what % 4 {
		0 if act.is_one_in(2) => challenge(act),
		0 | 1 => {
			let undemanded = |(auditor, _, answer): (AccountId, [u8; 4], AnswerId)| {
				let view = Disputes::answer_audit(answer.session, answer.provider.clone(), answer.place)?;
				(view.delivery == Delivery::Undemanded).then_some((auditor, answer))
			};
			let drawn = DrawnAnswers::<Runtime>::iter_keys().filter_map(undemanded);
			let (auditor, AnswerId { session, provider, place }) = act.one_of(drawn)?;
			signed(auditor, Call::demand_answer { session, provider, place })
		}
		_ => deliver(act),
	}
}

/// Returns the receipt of `provider` for an answer in this place, computed with this checkpoint.
fn receipt(provider: &AccountId, session: SessionId, place: u32, checkpoint: CheckpointId) -> Receipt {
	let [temperature, top_p, min_p, repetition, presence, frequency] = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0].map(F32::new);
	Receipt {
		provider: Some(provider.clone()),
		paid: Some((session, place)),
		parameters: checkpoint.root,
		checkpoint: Some((checkpoint.run, checkpoint.round)),
		class: Class::ExactF32,
		usable: TextTokens::BYTES.usable,
		prompt: Tokens::of(&TEXT[0]),
		answer: Tokens::of(&TEXT[1]),
		ending: Ending::Cut,
		sampling: Sampling { temperature, top_k: 0, top_p, min_p, repetition, presence, frequency, seed: 1 },
		price: 1,
	}
}

/// The receipt of an answer that is paid for: its parameters are nobody's.
fn paid(provider: &AccountId, session: SessionId, place: u32) -> Receipt {
	receipt(provider, session, place, CheckpointId { run: 0, round: 0, root: H256::zero() })
}

/// Root of the receipts of so many answers.
pub fn root(provider: &AccountId, session: SessionId, answers: u32) -> H256 {
	(0..answers).fold(H256::zero(), |root, place| chained(root, paid(provider, session, place).hash(genesis())))
}

fn sign(provider: &AccountId, receipt: &Receipt) -> Option<ProofSignature> {
	Some(ponw_key(provider)?.sign(&receipt.message(genesis())).0)
}

/// Another receipt, about the model that is offered, of a session that pays for it.
fn challenge(act: &Act) -> Deed {
	let offers = Offers::<Runtime>::iter().flat_map(|(provider, standing)| {
		let answers = {
			let provider = provider.clone();
			move |(id, session): (SessionId, pallet_neuro_inference::Session)| {
				let answers = session.provider.as_ref() == Some(&provider) || Inference::claimed(id, provider.clone()).answers > 0;
				answers.then_some(id)
			}
		};
		Sessions::<Runtime>::iter().filter_map(answers).map(move |session| (session, provider.clone(), standing.offer.checkpoint))
	});
	let (session, provider, checkpoint) = act.one_of(offers)?;
	let receipt = receipt(&provider, session, u32::from(act.small), checkpoint);
	let signature = sign(&provider, &receipt)?;
	act.mine(Call::challenge_answer { receipt, signature, doubt: 0 })
}

/// A provider delivers what is demanded.
fn deliver(act: &Act) -> Deed {
	let demanded = AnswerAudits::<Runtime>::iter().filter(|(_, audit)| audit.demand().is_some());
	let (AnswerId { session, provider, place }, audit) = act.one_of(demanded)?;
	let receipt = paid(&provider, session, place);
	let signature = sign(&provider, &receipt)?;
	let later: Vec<H256> = (place + 1..audit.answers).map(|place| paid(&provider, session, place).hash(genesis())).collect();
	let [prompt, answer] = TEXT.map(|text| text.to_vec().try_into().expect("short"));
	let before = root(&provider, session, place);
	let later = later.try_into().expect("no more than can be proven");
	signed(provider, Call::deliver_answer { session, place, receipt, signature, before, later, prompt, answer })
}
