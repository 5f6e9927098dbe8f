//! Makes receipts.

use super::Transcript;
use neuroshard_chain_client::keys::PonwSigner;
use neuroshard_graph::sampler;
use neuroshard_types::{
	inference::{Class, Ending, Prices, Receipt, SessionId, Tokens},
	AccountId, RoundIndex, RunId, H256,
};

/// Maker of receipts: the provider that answers, and the parameters that it answers with.
#[derive(Clone, Debug)]
pub struct Issuer {
	/// Root of the parameters.
	pub parameters: H256,
	/// Run, and its round that starts from them; `None` for a model of no run.
	pub checkpoint: Option<(RunId, RoundIndex)>,
	/// The arithmetic that answers are computed in.
	pub class: Class,
	/// Tokens below this one are chosen from.
	pub usable: u32,
	/// The provider, its key, and the first block of its chain; without them, nobody vouches for the receipts.
	pub signer: Option<(AccountId, PonwSigner, H256)>,
	/// Prices of tokens.
	pub prices: Prices,
}

impl Issuer {
	/// The receipt of an answer: its tokens, why they end, and how they were chosen.
	pub fn issue(
		&self,
		prompt: &[u32],
		answer: &[u32],
		ending: Ending,
		sampling: sampler::Sampling,
		paid: Option<(SessionId, u32)>,
	) -> Transcript {
		let (provider, genesis) = match &self.signer {
			Some((provider, _, genesis)) => (Some(provider.clone()), *genesis),
			None => (None, H256::zero()),
		};
		let (asked, answered) = (Tokens::of(prompt), Tokens::of(answer));
		let receipt = Receipt {
			provider,
			paid,
			parameters: self.parameters,
			checkpoint: self.checkpoint,
			class: self.class,
			usable: self.usable,
			prompt: asked,
			answer: answered,
			ending,
			sampling: sampling.into(),
			price: self.prices.of(asked.count, answered.count),
		};
		let signed = self.signer.as_ref().map(|(_, key, genesis)| (key.public(), key.sign_receipt(&receipt, *genesis)));
		let (key, signature) = signed.unzip();
		Transcript { receipt, genesis, key, signature, prompt: prompt.to_vec(), answer: answer.to_vec() }
	}
}
