//! Setup of the benchmarks.

use crate::{
	AnswerAudit, AnswerAuditShare, AnswerAudits, AnswerClosings, AnswerClosingsSpan, AnswerDrawPrice, AuditShare, AuditedSession,
	AuditedSessions, Audits, Config, DeliverTime, Demands, DemandsSpan, DrawnAnswers, Game, Games, NotedAnswers, Pallet, ReportTime,
	SealTime, TextOf, UndrawnAnswers, UndrawnAnswersSpan, Verifier, Verifiers,
};
use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::{traits::Get, BoundedVec};
use neuroshard_graph::{game::Doubt, merkle::blake2_256, sampler::Sampling};
use neuroshard_types::{
	answer_audit::{AnswerId, LaterReceipts, PaidAnswersOf, Text, MAX_PROVEN},
	assignment::Draw,
	audit::{seal_report, Report},
	dataset::{DatasetShape, TextTokens, Tokenizer},
	dispute::{AttestationClaim, ClaimId, ClaimKind, OuterJob, WorkClaim},
	inference::{chained, CheckpointId, Class, Ending, Receipt, SessionId, Tokens},
	proof::ProofSignature,
	provider::PonwKey,
	run::{PhaseDurations, RunConfig, RunStart, Work},
	span::Span,
	AccountId, Balance, ModelConfig, RoundIndex, TrainConfig, H256, MAX_LAYERS, MAX_PARTICIPANTS, MAX_STATE_ROOTS,
};
use sp_runtime::{KeyTypeId, Permill};

/// Setup that the benchmarks need from the runtime.
pub trait BenchmarkHelper {
	/// Gives `who` this much money.
	fn fund(who: &AccountId, amount: Balance);
	/// Makes `id` a claim about work in a round that is adopted in this block.
	fn work(id: &ClaimId, claim: WorkClaim);
	/// Makes `id` a claim about a checkpoint in a round that is adopted in this block.
	fn attestation(id: &ClaimId, claim: AttestationClaim);
	/// Has the run of `id` go on: the next round is in Checkpointing, with as many participants as there can be. Proofs of the account of `id` wait.
	fn under_way(id: &ClaimId);
	/// Makes `who` an active provider that verifies. It is punished if it misses one more audit.
	fn verifier(who: &AccountId);
	/// Makes a provider inactive.
	fn chill(who: &AccountId);
	/// Makes this the current epoch.
	fn epoch(epoch: u64);
	/// Makes `who` a provider with this key for proofs, which answers with `checkpoint` of a run of this configuration in a session. Returns the session.
	fn answered(who: &AccountId, key: PonwKey, checkpoint: &CheckpointId, config: RunConfig) -> SessionId;
}

pub(super) const SALT: [u8; 32] = [7; 32];

/// A run whose only interval has so many inner steps, and whose model is as deep as can be.
fn config(steps: u32) -> RunConfig {
	RunConfig {
		name: BoundedVec::truncate_from(vec![b'x'; 64]),
		dataset: 0,
		model: ModelConfig { layers: MAX_LAYERS, heads: 1, kv_heads: 1, ffn: 32, ..ModelConfig::tiny() },
		train: TrainConfig { batch: 1, inner_steps: steps, commit_interval: steps, ..TrainConfig::tiny() },
		genesis_root: H256::zero(),
		start: RunStart::Seed,
		min_participants: 1,
		max_participants: MAX_PARTICIPANTS,
		min_bond: 1,
		rounds: None,
		durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	}
}

/// State roots of inner steps.
pub(super) fn roots(count: u32) -> Vec<[u8; 32]> {
	(0..count).map(|step| blake2_256(&step.to_be_bytes())).collect()
}

/// The claim of claimant `number`, who is a provider, about its work in round 0, and the work.
pub(super) fn work<T: Config>(number: u32) -> (ClaimId, Work) {
	let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: account("claimant", number, 0) };
	let state_roots = vec![H256::zero(); usize::try_from(MAX_STATE_ROOTS).unwrap_or_default()];
	let work = Work { state_roots: BoundedVec::truncate_from(state_roots), delta_root: H256::zero(), delta_bytes: 1, tokens: 1 };
	let (config, shape) = (config(4), DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 });
	let draw = Draw::new(&config, (0, 0), H256::zero(), &shape);
	let judged = WorkClaim {
		config,
		shape,
		dataset_root: H256::zero(),
		start: H256::zero(),
		start_round: 0,
		base: None,
		draw,
		position: 0,
		work_hash: H256(blake2_256(&codec::Encode::encode(&work))),
		steps: 4,
		quorum: None,
	};
	T::BenchmarkHelper::work(&claim, judged);
	T::BenchmarkHelper::verifier(&claim.who);
	(claim, work)
}

/// A claim of a provider about a checkpoint after so many outer steps.
pub(super) fn attestation<T: Config>(steps: u32) -> ClaimId {
	let round: RoundIndex = steps.saturating_sub(1);
	let deltas = vec![H256::zero(); usize::try_from(MAX_PARTICIPANTS).unwrap_or_default()];
	let steps = vec![deltas; usize::try_from(steps).unwrap_or_default()];
	let claim = ClaimId { run: 0, round, kind: ClaimKind::Attestation, who: account("claimant", 0, 0) };
	let job = OuterJob { first_round: 0, start: H256::zero(), steps, inner_steps: vec![] };
	T::BenchmarkHelper::attestation(&claim, AttestationClaim { config: config(4), job, checkpoint: H256::zero() });
	T::BenchmarkHelper::verifier(&claim.who);
	claim
}

/// A challenger with money for the bonds of several challenges.
pub(super) fn challenger<T: Config>(number: u32) -> AccountId {
	let who: AccountId = account("challenger", number, 0);
	T::BenchmarkHelper::fund(&who, T::Bond::get().saturating_mul(100));
	who
}

/// Verifiers that can be drawn in the current epoch, with time for their reports within any challenge window.
pub(super) fn verifiers<T: Config>(count: u32) {
	let account = |number| account("verifier", number, 0);
	let mut verifiers: Vec<_> = (0..count).map(|number| Verifier { account: account(number), since: 0, until: None }).collect();
	verifiers.sort_by(|a, b| a.account.cmp(&b.account));
	Verifiers::<T>::put(BoundedVec::truncate_from(verifiers));
	AuditShare::<T>::put(Permill::one());
	SealTime::<T>::put(1);
	ReportTime::<T>::put(1);
	T::BenchmarkHelper::epoch(2);
}

/// Work that two auditors audit.
pub(super) fn drawn<T: Config>() -> (ClaimId, Work, [AccountId; 2]) {
	verifiers::<T>(512);
	let (claim, work) = work::<T>(0);
	assert_eq!(Pallet::<T>::draw_round(claim.run, claim.round), 1);
	let auditors = Audits::<T>::get(&claim).map(|audit| audit.parts.map(|part| part.auditor));
	let auditors = auditors.unwrap_or([account("none", 0, 0), account("none", 1, 0)]);
	auditors.iter().for_each(T::BenchmarkHelper::verifier);
	(claim, work, auditors)
}

/// Lets an auditor seal this report.
pub(super) fn seal<T: Config>(claim: &ClaimId, auditor: &AccountId, report: Report) {
	let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
	let sealed = seal_report(genesis, claim.run, claim.round, auditor, &SALT, &report);
	assert_eq!(Pallet::<T>::do_seal(auditor.clone(), claim.run, claim.round, sealed), Ok(()));
}

/// Work both auditors of which have reported this.
pub(super) fn reported<T: Config>(report: Report) -> (ClaimId, Work, [AccountId; 2]) {
	let (claim, work, auditors) = drawn::<T>();
	auditors.iter().for_each(|auditor| seal::<T>(&claim, auditor, report));
	for auditor in &auditors {
		assert_eq!(Pallet::<T>::do_report(auditor.clone(), claim.run, claim.round, &SALT, report), Ok(()));
	}
	(claim, work, auditors)
}

/// Key type of the benchmarks' providers in the keystore.
const KEYS: KeyTypeId = KeyTypeId(*b"ponw");

/// A receipt of the answer with the longest text that a model as deep as can be reads, and its signature.
pub(super) fn answered<T: Config>() -> Result<(Receipt, ProofSignature), BenchmarkError> {
	let answer = Tokens { count: config(4).model.max_seq.saturating_sub(1), root: H256::zero() };
	answered_with::<T>(Tokens { count: 1, root: H256::zero() }, answer)
}

/// The receipt of an answer with this text, and its signature.
fn answered_with<T: Config>(prompt: Tokens, answer: Tokens) -> Result<(Receipt, ProofSignature), BenchmarkError> {
	let checkpoint = CheckpointId { run: 0, round: 0, root: H256::zero() };
	let provider: AccountId = account("provider", 0, 0);
	let key = sp_io::crypto::ecdsa_generate(KEYS, None);
	let config = config(4);
	let session = T::BenchmarkHelper::answered(&provider, key.0, &checkpoint, config);
	let receipt = Receipt {
		provider: Some(provider),
		paid: Some((session, 0)),
		parameters: checkpoint.root,
		checkpoint: Some((checkpoint.run, checkpoint.round)),
		class: Class::ExactF32,
		usable: TextTokens::BYTES.usable,
		prompt,
		answer,
		ending: Ending::Cut,
		sampling: Sampling::default().into(),
		price: 0,
	};
	let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
	let signature = sp_io::crypto::ecdsa_sign(KEYS, &key, &receipt.message(genesis)).ok_or(BenchmarkError::Stop("no key"))?;
	Ok((receipt, signature.0))
}

/// Text that a provider delivers.
pub(super) struct Delivery {
	pub receipt: Receipt,
	pub signature: ProofSignature,
	pub before: H256,
	pub later: LaterReceipts,
	pub prompt: Text,
	pub answer: Text,
}

/// Puts an audit where a draw puts it. Demands of its text take one block, and all of it three.
fn put_audit<T: Config>(answer: &AnswerId, audit: AnswerAudit) {
	DeliverTime::<T>::put(1);
	DrawnAnswers::<T>::insert((&audit.auditor, audit.closes_at.to_be_bytes(), answer), ());
	AnswerAudits::<T>::insert(answer, audit);
	AuditedSessions::<T>::insert(answer.session, &answer.provider, AuditedSession { audits: 1, condemned: false });
	AnswerClosingsSpan::<T>::mutate(|span| AnswerClosings::<T>::insert(span.append(), answer));
}

fn audit_by<T: Config>(auditor: AccountId, checkpoint: CheckpointId, (answers, receipts): (u32, H256)) -> AnswerAudit {
	let now = Pallet::<T>::now();
	let (demand_by, closes_at) = (now.saturating_add(1), now.saturating_add(3));
	AnswerAudit {
		auditor,
		answers,
		receipts,
		checkpoint,
		demand_by,
		closes_at,
		bound_until: closes_at,
		text: TextOf::Undemanded,
		disputed: None,
	}
}

/// An answer with so many tokens and so many other answers behind it, which was drawn, its auditor, and what its provider delivers.
pub(super) fn drawn_answer<T: Config>(tokens: u32, behind: u32) -> Result<(AnswerId, AccountId, Delivery), BenchmarkError> {
	let text: Vec<u32> = (0..tokens).collect();
	let (receipt, signature) = answered_with::<T>(Tokens::of(&text), Tokens::of(&[]))?;
	let (session, place) = receipt.paid.ok_or(BenchmarkError::Stop("a place"))?;
	let provider = receipt.provider.clone().ok_or(BenchmarkError::Stop("a provider"))?;
	let later: Vec<H256> = (0..behind).map(|number| H256(blake2_256(&number.to_be_bytes()))).collect();
	let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
	let root = later.iter().fold(chained(H256::zero(), receipt.hash(genesis)), |root, later| chained(root, *later));
	let auditor = challenger::<T>(0);
	T::BenchmarkHelper::verifier(&auditor);
	let answer = AnswerId { session, provider, place };
	let checkpoint = CheckpointId { run: 0, round: 0, root: receipt.parameters };
	put_audit::<T>(&answer, audit_by::<T>(auditor.clone(), checkpoint, (behind.saturating_add(1), root)));
	let later = LaterReceipts::truncate_from(later);
	let delivery = Delivery { receipt, signature, before: H256::zero(), later, prompt: Text::truncate_from(text), answer: Text::default() };
	Ok((answer, auditor, delivery))
}

/// The same, and its text is demanded.
pub(super) fn demanded<T: Config>(tokens: u32, behind: u32) -> Result<(AnswerId, Delivery), BenchmarkError> {
	let (answer, auditor, delivery) = drawn_answer::<T>(tokens, behind)?;
	T::BenchmarkHelper::fund(&auditor, T::DemandDeposit::get().saturating_mul(2));
	assert_eq!(Pallet::<T>::do_demand(auditor, answer.clone()), Ok(()));
	Ok((answer, delivery))
}

/// So many demands of an answer that were met.
pub(super) fn queue_met<T: Config>(answer: &AnswerId, count: u32) {
	DemandsSpan::<T>::put(Span { first: 0, next: count.into() });
	(0..count).for_each(|number| Demands::<T>::insert(u64::from(number), answer));
	AnswerAudits::<T>::mutate(answer, |audit| audit.iter_mut().for_each(|audit| audit.text = TextOf::Delivered(0)));
}

/// So many audits, each of another session.
pub(super) fn audits_of_answers<T: Config>(count: u32) {
	let checkpoint = CheckpointId { run: 0, round: 0, root: H256::zero() };
	for number in 0..count {
		let answer = AnswerId { session: number.into(), provider: account("provider", 0, 0), place: 0 };
		put_audit::<T>(&answer, audit_by::<T>(account("auditor", number, 0), checkpoint, (1, H256::zero())));
	}
}

/// So many claims of pay, each of another session and with as many answers as can be drawn from, wait for their draw.
pub(super) fn note_answers<T: Config>(count: u32, epoch: u64) {
	let checkpoint = CheckpointId { run: 0, round: 0, root: H256::zero() };
	AnswerAuditShare::<T>::put(Permill::one());
	AnswerDrawPrice::<T>::put(1);
	DeliverTime::<T>::put(1);
	for number in 0..count {
		let (session, provider) = (number.into(), account("provider", number, 0));
		let paid = MAX_PROVEN.into();
		let answers = PaidAnswersOf { session, provider, before: 0, answers: MAX_PROVEN, receipts: H256::zero(), checkpoint, paid };
		let noted = NotedAnswers { answers, epoch, paid_at: Pallet::<T>::now() };
		UndrawnAnswersSpan::<T>::mutate(|span| UndrawnAnswers::<T>::insert(span.append(), noted));
	}
}

/// Of all claims of pay but the first ones nothing is drawn: nothing was paid.
pub(super) fn leave_undrawn<T: Config>(first: u32) {
	let count = u64::try_from(UndrawnAnswers::<T>::iter_keys().count()).unwrap_or_default();
	for number in u64::from(first)..count {
		UndrawnAnswers::<T>::mutate(number, |noted| noted.iter_mut().for_each(|noted| noted.answers.paid = 0));
	}
}

/// The only game about `claim`, with whose end its audit, if there is one, closes.
pub(super) fn opened<T: Config>(claim: &ClaimId, work: &Work) -> Result<(AccountId, Game), BenchmarkError> {
	T::BenchmarkHelper::under_way(claim);
	let who = challenger::<T>(0);
	assert_eq!(Pallet::<T>::do_challenge_work(who.clone(), claim.clone(), work, Doubt::Interval(0)), Ok(0));
	Audits::<T>::mutate(claim, |audit| audit.iter_mut().for_each(|audit| audit.overdue = true));
	let game = Games::<T>::get(claim, &who).ok_or("a game")?;
	Ok((who, game))
}
