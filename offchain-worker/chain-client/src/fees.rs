//! Fees of extrinsics, asked of the chain, and constants of its pallets.

use crate::{
	attempts::MORTALITY,
	call::Call,
	client::{ChainAt, Hash},
	disputes,
	error::ChainError,
	rewards, shape, staking, training,
};
use codec::DecodeAll;
use neuroshard_graph::{
	answer::MAX_TEXT,
	game::{Contents, Entry, Move, Position, MAX_LIST},
	plan::Plan,
	witness::{choice_len, MAX_WITNESS},
	Aggregator, Class, ConfigError, ParamLayout,
};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	proof::{Proof, ProofKey, ProofKind},
	provider::ProviderInfo,
	run::{vote_bitmap, Attestation, RunConfig, Work},
	AccountId, Balance, BlockNumber, ModelConfig, RoundIndex, TrainConfig, F32, H256, MAX_PARTICIPANTS, MAX_STATE_ROOTS,
};
use scale_info::TypeInfo;
use subxt::{
	config::{substrate::SubstrateConfig, DefaultExtrinsicParamsBuilder},
	metadata::Metadata,
};
use subxt_signer::sr25519::dev;

pub(super) const EXISTENTIAL_DEPOSIT: (&str, &str) = ("Balances", "ExistentialDeposit");
pub(super) const LONGEST_PHASE: (&str, &str) = ("Training", "MaxPhaseDuration");
pub(super) const HISTORY_PERIOD: (&str, &str) = ("Training", "HistoryPeriod");
pub(super) const RUN_DEPOSIT: (&str, &str) = ("Training", "RunDeposit");
pub(super) const RECORD_DEPOSIT: (&str, &str) = ("Training", "RecordDeposit");
pub(super) const RECORDS_KEPT: (&str, &str) = ("Training", "RecordsKept");
pub(super) const MOST_REPLAYED: (&str, &str) = ("Training", "MaxReplay");
pub(super) const MOST_GAMES: (&str, &str) = ("Disputes", "MaxGamesPerDefender");

/// Nonce of what is estimated: as long as any that an account gets to, and none that Alice has on a development network.
const NONCE: u64 = 1 << 28;

/// Numbers that the length of a round's extrinsics depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundSize {
	/// State roots in the reveal.
	state_roots: u32,
	/// Bits in the vote.
	participants: u32,
}

impl RoundSize {
	/// The most that any run may have.
	pub const LARGEST: Self = Self { state_roots: MAX_STATE_ROOTS, participants: MAX_PARTICIPANTS };

	/// The most of the run with this configuration.
	pub fn of(config: &RunConfig) -> Self {
		Self::new(&config.train, config.max_participants)
	}

	fn new(train: &TrainConfig, participants: u32) -> Self {
		Self { state_roots: train.revealed_roots().min(MAX_STATE_ROOTS), participants: participants.min(MAX_PARTICIPANTS) }
	}
}

/// Costs that a provider must be able to pay beside its bond, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
	/// Must stay free: the existential deposit; [`ChainAt::reserve`] where it takes part in a run.
	pub stays: Balance,
	/// Fees of registering, proving arithmetic, telling addresses and joining a run.
	pub start: Balance,
	/// Fees of a round: commit, reveal, vote, attest and claim. Execution that turns out cheaper is paid back, so this is the most.
	pub round: Balance,
}

impl Costs {
	/// Returns the amount, in planck, that a provider which is not registered yet needs beside the bond to finish a first round.
	pub fn before_work(&self) -> Balance {
		self.stays.saturating_add(self.start).saturating_add(self.round)
	}
}

/// Fees of a game about an answer, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerFees {
	/// Of who gave the answer.
	pub defence: Balance,
	/// Of who disputes it, without that of the challenge itself.
	pub challenge: Balance,
}

impl ChainAt {
	/// Fee in planck that is taken for `call` when it gets into a block.
	///
	/// # Errors
	/// The node is away, its answer cannot be used, or the chain does not have the call.
	pub async fn fee(&self, call: &Call) -> Result<Balance, ChainError> {
		let what = || format!("fee of {}", call.describe());
		let payload = call.payload(self.at.metadata_ref())?;
		// A fee counts bytes: nonce and era have the length that they have in earnest.
		let birth = self.block();
		let parameters = DefaultExtrinsicParamsBuilder::<SubstrateConfig>::new()
			.nonce(NONCE)
			.mortal_from_unchecked(MORTALITY.into(), birth.number.into(), Hash::from(birth.hash.0))
			.build();
		// Fees do not depend on who signs. A signature of the real account has no business at a node before it is meant.
		let mut signable =
			self.at.tx().create_signable_offline(&payload, parameters).map_err(|error| self.client.rpc_error(&what(), error))?;
		let signed = signable.sign(&dev::alice()).map_err(|error| self.client.rpc_error(&what(), error))?;
		signed.partial_fee_estimate().await.map_err(|error| self.client.rpc_error(&what(), error))
	}

	/// Returns the costs of a provider that registers `info`, with rounds of the size `round`.
	///
	/// # Errors
	/// As [`Self::fee`].
	pub async fn costs(&self, info: &ProviderInfo, round: RoundSize) -> Result<Costs, ChainError> {
		// Amounts and hashes only count by their length.
		let starting = [
			staking::register(info.clone(), Balance::MAX),
			staking::prove_arithmetic(H256::zero()),
			staking::update_info(info.clone()),
			training::join(0),
		];
		let mut costs = Costs { stays: self.existential_deposit()?, start: 0, round: 0 };
		for call in &starting {
			costs.start = costs.start.saturating_add(self.fee(call).await?);
		}
		for call in &round_calls(round) {
			costs.round = costs.round.saturating_add(self.fee(call).await?);
		}
		Ok(costs)
	}

	/// Returns the amount that must stay free on an account that takes part in a run with this configuration, or audits it, in planck: the existential
	/// deposit, and the fees of the longest game in which it could have to defend a claim, for as many games as can be open against it, without those
	/// of auditors that were drawn, which are opened beyond that number. Who cannot pay for a move loses all that it has at stake.
	///
	/// # Errors
	/// As [`Self::fee`].
	pub async fn reserve(&self, config: &RunConfig) -> Result<Balance, ChainError> {
		let refused = |error: ConfigError| ChainError::BadAnswer { what: "the run's configuration".into(), reason: error.to_string() };
		let games = defences(config, constant(self.at.metadata_ref(), &MOST_REPLAYED)?).map_err(refused)?;
		let mut most = 0;
		for (kind, moves) in [ClaimKind::Work, ClaimKind::Attestation].into_iter().zip(games) {
			let mut game: Balance = 0;
			for action in moves {
				game = game.saturating_add(self.fee(&defence(kind, action)).await?);
			}
			most = most.max(game);
		}
		let games = Balance::from(self.games_at_most()?);
		Ok(self.existential_deposit()?.saturating_add(most.saturating_mul(games)))
	}

	/// Games that can be open against an account at a time, without those of auditors that were drawn.
	pub(super) fn games_at_most(&self) -> Result<u32, ChainError> {
		constant(self.at.metadata_ref(), &MOST_GAMES)
	}

	/// The fees of each side in the longest game about an answer of a model of this shape, in planck.
	///
	/// # Errors
	/// As [`Self::fee`].
	pub async fn answer_fees(&self, model: &ModelConfig) -> Result<AnswerFees, ChainError> {
		let ([defence, challenge], last) = answer_game(model);
		let mut fees = AnswerFees { defence: 0, challenge: 0 };
		for (sum, moves) in [(&mut fees.defence, defence), (&mut fees.challenge, challenge)] {
			for action in moves {
				*sum = sum.saturating_add(self.fee(&defence_of_answer(action)).await?);
			}
		}
		let mut dearest = 0;
		for action in last {
			dearest = dearest.max(self.fee(&defence_of_answer(action)).await?);
		}
		fees.challenge = fees.challenge.saturating_add(dearest);
		Ok(fees)
	}

	/// Returns the existential deposit, which must stay in every account, in planck.
	///
	/// # Errors
	/// [`ChainError::Missing`] or [`ChainError::Incompatible`] if the chain does not say.
	pub fn existential_deposit(&self) -> Result<Balance, ChainError> {
		constant(self.at.metadata_ref(), &EXISTENTIAL_DEPOSIT)
	}

	/// Longest duration of a phase of a round, in blocks.
	///
	/// # Errors
	/// As [`Self::existential_deposit`].
	pub fn longest_phase(&self) -> Result<BlockNumber, ChainError> {
		constant(self.at.metadata_ref(), &LONGEST_PHASE)
	}

	/// Blocks after the end of a run during which it cannot be removed.
	///
	/// # Errors
	/// As [`Self::existential_deposit`].
	pub fn history_period(&self) -> Result<BlockNumber, ChainError> {
		constant(self.at.metadata_ref(), &HISTORY_PERIOD)
	}

	/// Deposit in planck that creating a run of so many rounds holds; `None` goes on until stopped.
	///
	/// # Errors
	/// As [`Self::existential_deposit`].
	pub fn run_deposit(&self, rounds: Option<RoundIndex>) -> Result<Balance, ChainError> {
		run_deposit(self.at.metadata_ref(), rounds)
	}
}

/// As pallet `Training` has it: for the run itself, and for every record that it may keep at a time.
pub(super) fn run_deposit(metadata: &Metadata, rounds: Option<RoundIndex>) -> Result<Balance, ChainError> {
	let kept: RoundIndex = constant(metadata, &RECORDS_KEPT)?;
	let (run, record): (Balance, Balance) = (constant(metadata, &RUN_DEPOSIT)?, constant(metadata, &RECORD_DEPOSIT)?);
	let records = rounds.map_or(kept, |rounds| rounds.min(kept));
	Ok(run.saturating_add(record.saturating_mul(records.into())))
}

/// Value of a constant in the metadata, whose type is compared first.
pub(super) fn constant<T: DecodeAll + TypeInfo + 'static>(metadata: &Metadata, (pallet, name): &(&str, &str)) -> Result<T, ChainError> {
	let what = || format!("constant {pallet}::{name}");
	let found = metadata.pallet_by_name(pallet).and_then(|found| found.constant_by_name(name));
	let found = found.ok_or_else(|| ChainError::Missing { what: what() })?;
	shape::same::<T>(metadata.types(), found.ty()).map_err(|mismatch| ChainError::Incompatible { what: what(), mismatch })?;
	T::decode_all(&mut found.value()).map_err(|error| ChainError::BadAnswer { what: what(), reason: error.to_string() })
}

/// The extrinsics of one round of this size.
pub(super) fn round_calls(size: RoundSize) -> [Call; 5] {
	let work = Work {
		state_roots: (0..size.state_roots).map(|_| H256::zero()).collect::<Vec<_>>().try_into().unwrap_or_default(),
		delta_root: H256::zero(),
		delta_bytes: 0,
		tokens: 0,
	};
	let proof = Proof { key: ProofKey { run: 0, round: 0, kind: ProofKind::Training }, timestamp: 0, work_hash: H256::zero() };
	let vote = vote_bitmap((0..size.participants).map(|_| true)).unwrap_or_default();
	let attestation = Attestation { checkpoint: H256::zero(), validation_loss: F32::new(0.0) };
	[
		training::commit(0, 0, 0, H256::zero()),
		training::reveal(0, 0, 0, [0; 32], work, proof, [0; 65]),
		training::vote_availability(0, 0, 0, vote),
		training::attest(0, 0, 0, attestation),
		rewards::claim_for(AccountId::new([0; 32]), 0),
	]
}

/// Most pieces of a tile in any model of today. Beyond it they are one for 256 tokens of a batch, or for 256 of its heads with a norm.
const PIECES: u32 = 1_024;

/// A defender's moves in the longest game about work, and in the longest about a checkpoint, each with a list as long as this configuration
/// makes it, or the most outer steps.
fn defences(config: &RunConfig, outer_steps: u32) -> Result<[Vec<Move>; 2], ConfigError> {
	let (model, train) = (&config.model, &config.train);
	let list = |count: u32| vec![[0; 32]; usize::try_from(count.min(MAX_LIST)).unwrap_or_default()];
	let tiles = u32::try_from(ParamLayout::trained(model, train)?.tile_count()).unwrap_or(u32::MAX);
	// The gradient of a head's norm is a chain over the tokens and heads of a batch.
	let heads = if model.family.has_head_norms() { model.heads } else { 1 };
	let pieces = train.batch.saturating_mul(train.seq_len).saturating_mul(heads).div_ceil(256).max(PIECES);
	let nodes = list(Plan::training(model, train)?.listed_nodes());
	let work = [Move::Steps(list(train.inner_steps)), Move::Nodes { before: Contents::State([[0; 32]; 3]), after: [[0; 32]; 3], nodes }];
	let (before, after, gradient) = ([[0; 32]; 2], [[0; 32]; 2], [0; 32]);
	let (outer, pieces_of_outer) = match train.aggregator {
		Aggregator::Robust(_) | Aggregator::Compressed(_) => {
			let nodes = list(Plan::outer(model, train, train.aggregator.most_deltas())?.listed_nodes());
			// Distances of most deltas take so many.
			(Move::Aggregate { before, after, gradient, nodes }, pieces.max(2_048))
		}
		Aggregator::Mean | Aggregator::TrimmedMean { .. } => (Move::Outer { before, after, gradient }, pieces),
	};
	let checkpoint = [Move::Checkpoints(list(outer_steps)), outer];
	// A list that does not fit a move takes another one.
	let hashes = if tiles > MAX_LIST { 2 } else { 1 };
	let game = |first: [Move; 2], pieces: u32| {
		let hashes = (0..hashes).map(|_| Move::Hashes(list(tiles)));
		first.into_iter().chain(hashes).chain([Move::States(list(pieces))]).collect()
	};
	Ok([game(work, pieces), game(checkpoint, pieces_of_outer)])
}

/// The moves of the defender, and of the challenger, in the longest game about an answer, but for the challenger's last one: about a tile of one of the largest
/// nodes. And the moves that can be the last: which of them costs more depends on the chain's weights.
fn answer_game(model: &ModelConfig) -> ([Vec<Move>; 2], [Move; 2]) {
	let list = |count: u32| vec![[0; 32]; usize::try_from(count.min(MAX_LIST)).unwrap_or_default()];
	let longest = model.max_seq.min(MAX_TEXT);
	// Where a text of this length is not judged, shorter ones are: their lists have no more than any list.
	let (nodes, tiles) = Plan::reading(model, longest, Class::ExactF32).map_or((MAX_LIST, u32::MAX), |plan| {
		let tiles = plan.tensors().map(|tensor| tensor.rows.div_ceil(32).saturating_mul(tensor.cols.div_ceil(32)));
		(plan.listed_nodes(), tiles.max().unwrap_or_default())
	});
	let entry = || Entry { hash: [0; 32], proof: vec![[0; 32]; 32] };
	let (node, hash) = (Move::Node { index: 0, root: entry() }, Move::Hash { index: 0, entry: entry() });
	let last = [
		Move::Choice { index: 0, witness: vec![0; choice_len(model.vocab, longest)] },
		Move::Piece { piece: 0, before: Some(entry()), after: Some(entry()), witness: vec![0; MAX_WITNESS] },
	];
	// A list that does not fit a move takes another one, and the choice in it.
	let hashes = if tiles > MAX_LIST { 2 } else { 1 };
	let read = Move::Read { start: [[0; 32]; 2], nodes: list(nodes) };
	let defence = std::iter::once(read).chain((0..hashes).map(|_| Move::Hashes(list(tiles)))).chain([Move::States(list(PIECES))]);
	let challenge = std::iter::once(node).chain((0..hashes).map(|_| hash.clone()));
	([defence.collect(), challenge.collect()], last)
}

fn defence_of_answer(action: Move) -> Call {
	defence(ClaimKind::Answer(H256::zero()), action)
}

fn defence(kind: ClaimKind, action: Move) -> Call {
	let who = AccountId::new([0; 32]);
	disputes::play(ClaimId { run: 0, round: 0, kind, who: who.clone() }, who, &Position::Checkpoints { count: 0 }, action)
}

#[cfg(test)]
pub(super) mod tests {
	use super::*;
	use crate::testing::Connect;
	use neuroshard_graph::{Robust, Rule};
	use neuroshard_mock_node::{Fate, MockNode, Script};
	use neuroshard_types::dataset::Tokenizer;
	use neuroshard_types::run::PhaseDurations;

	#[test]
	fn a_rounds_extrinsics_are_as_long_as_its_run_makes_them() {
		let mut train = TrainConfig::tiny();
		train.inner_steps = 25;
		train.commit_interval = 10;
		// States after 10, 20 and 25 steps.
		assert_eq!(RoundSize::new(&train, 9), RoundSize { state_roots: 3, participants: 9 });
		train.commit_interval = 1;
		train.inner_steps = u32::MAX;
		assert_eq!(RoundSize::new(&train, u32::MAX), RoundSize::LARGEST, "the chain takes no more");
	}

	pub(crate) fn config() -> RunConfig {
		RunConfig {
			name: Default::default(),
			dataset: 0,
			model: ModelConfig { dim: 64, layers: 2, heads: 4, kv_heads: 2, ffn: 160, max_seq: 128, ..ModelConfig::tiny() },
			train: TrainConfig::tiny(),
			genesis_root: H256::zero(),
			start: Default::default(),
			min_participants: 2,
			max_participants: 4,
			min_bond: 0,
			rounds: Some(4),
			durations: PhaseDurations { joining: 5, training: 50, revealing: 10, availability: 20, checkpointing: 20 },
			tokenizer: Tokenizer::BYTES,
			overlaps: false,
			epochs: true,
		}
	}

	#[test]
	fn a_defence_has_lists_as_long_as_the_run_makes_them_and_one_more_where_one_does_not_hold_all() {
		let lists = |config: &RunConfig| {
			let length = |action: &Move| match action {
				Move::Steps(list) | Move::Hashes(list) | Move::States(list) | Move::Checkpoints(list) => list.len(),
				_ => 0,
			};
			defences(config, 7).unwrap().map(|game| game.iter().map(length).collect::<Vec<_>>())
		};
		let mut config = config();
		(config.train.inner_steps, config.train.commit_interval) = (20, 5);
		let tiles = ParamLayout::new(&config.model).unwrap().tile_count();
		assert_eq!(lists(&config), [vec![20, 0, tiles, 1_024], vec![7, 0, tiles, 1_024]]);
		// 2,048 times 32 tiles in the embedding alone.
		(config.model.vocab, config.model.dim) = (65_536, 1_024);
		assert_eq!(lists(&config)[0], [20, 0, 16_384, 16_384, 1_024]);
	}

	#[test]
	fn runs_of_every_rule_have_a_longest_game() {
		let limit = F32::new(1.0);
		let rules = [
			Rule::Mean,
			Rule::Median,
			Rule::TrimmedMean { trim: 1 },
			Rule::Krum { liars: 1 },
			Rule::MultiKrum { liars: 1 },
			Rule::CentredClipping { liars: 1, radius: limit, steps: 5 },
			Rule::GeometricMedian { liars: 1, floor: limit, steps: 5 },
			Rule::WeightedMean { least_steps: 1 },
			Rule::MixedKrum { liars: 1 },
		];
		for rule in rules {
			let mut config = config();
			config.train.aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule });
			let [_, outer] = defences(&config, 7).unwrap();
			assert!(matches!(outer[1], Move::Aggregate { .. }), "{rule:?}");
		}
	}

	#[tokio::test]
	async fn the_reserve_pays_for_every_move_of_the_longest_game_and_leaves_the_account_alive() {
		// Its fees are the lengths of extrinsics.
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let at = node.client().await.now().await.unwrap();
		let [_, longest] = defences(&config(), constant(at.at.metadata_ref(), &MOST_REPLAYED).unwrap()).unwrap();
		let mut fees = 0;
		for action in longest {
			let length = codec::Encode::encoded_size(&action) as u128;
			let fee = at.fee(&defence(ClaimKind::Attestation, action)).await.unwrap();
			assert!((length + 200..length + 300).contains(&fee), "{fee} for {length}");
			fees += fee;
		}
		// As many games as can be open against an account.
		assert_eq!(at.reserve(&config()).await.unwrap(), at.existential_deposit().unwrap() + 32 * fees);
	}

	#[tokio::test]
	async fn the_fees_of_a_game_about_an_answer_are_those_of_its_longest_lists_and_of_the_largest_witness() {
		// Its fees are the lengths of extrinsics.
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let at = node.client().await.now().await.unwrap();
		let AnswerFees { defence, challenge } = at.answer_fees(&config().model).await.unwrap();
		let read = 32 * u128::from(Plan::reading(&config().model, 128, Class::ExactF32).unwrap().listed_nodes());
		assert!(defence > read && defence < read + 50_000, "{defence}");
		let witness = MAX_WITNESS as u128;
		assert!(challenge > witness && challenge < witness + 10_000, "{challenge}");
		// A row of 2^18 logits is opened with four bytes each, and the text.
		let wide = ModelConfig { vocab: 1 << 18, ..config().model };
		let (challenge, witness) = (at.answer_fees(&wide).await.unwrap().challenge, (1 << 20) + 4 * 128);
		assert!(challenge > witness && challenge < witness + 10_000, "{challenge}");
		// A text of the greatest length has lists that take a second move.
		let longest = ModelConfig { max_seq: MAX_TEXT, ..config().model };
		assert!(at.answer_fees(&longest).await.unwrap().defence > 2 * 32 * u128::from(MAX_LIST));
	}

	#[tokio::test]
	async fn an_estimate_is_for_no_fewer_bytes_than_are_sent_in_the_end() {
		// Its fees are the lengths of extrinsics.
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		for call in round_calls(RoundSize::LARGEST) {
			let estimated = node.client().await.now().await.unwrap().fee(&call).await.unwrap();
			node.submitter().await.submit(call).await.unwrap();
			let sent = node.submitted().borrow().last().unwrap().len() as u128;
			assert!((sent..sent + 8).contains(&estimated), "{estimated} for {sent}");
		}
	}
}
