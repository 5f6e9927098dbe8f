//! Where a game stands, and what a move makes of it.

use super::{
	quorum::{subtrees, Part, Quorum, Stand, MAX_GIVEN},
	Base, Contents, GameError, Move, Outcome, Ruling, Setting, Side, Subject, MAX_LIST,
};
use crate::{
	answer::Answer,
	cell::Cell,
	commit::{checkpoint_root, state_root},
	game::Entry,
	merkle::{blake2_256, merkle_root, uniform_root, verify, Hash},
	plan::Plan,
	resume::{Job, Parameters},
	span::Span,
	tiles::{leaf_hash, LEAF_BYTES},
	witness::{check, check_choice, check_row, row_tiles, Agreed, Question, Source, Tokens, Verdict},
};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// A state that both sides agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum Anchor {
	/// The checkpoint that the round starts from, with moments of zero.
	Checkpoint,
	/// An inner state, by its root.
	State(Hash),
}

/// The job that the dispute has come down to, with the roots that both sides agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[allow(clippy::large_enum_variant, reason = "a position is one of them, copied a few times in a game")]
pub enum Site {
	/// An inner step.
	Step {
		/// Its number within the round, from 0.
		step: u32,
		/// Roots of parameters, first and second moments before it.
		vectors: [Hash; 3],
		/// Root over the roots of its listed nodes.
		nodes: Hash,
	},
	/// The delta of the round.
	Delta {
		/// Roots of the parameters at its start and at its end.
		vectors: [Hash; 2],
	},
	/// An outer step.
	Outer {
		/// Its number among the claim's steps, from 0.
		step: u32,
		/// Roots of parameters and momentum before it.
		vectors: [Hash; 2],
		/// Root of the pseudo-gradient.
		gradient: Hash,
	},
	/// Reading the text of an answer.
	Read {
		/// Root of the parameters.
		vectors: [Hash; 1],
		/// Root over the roots of its nodes.
		nodes: Hash,
	},
	/// An outer step whose pseudo-gradient is computed in steps.
	Aggregate {
		/// Its number among the claim's steps, from 0.
		step: u32,
		/// Roots of parameters and momentum before it.
		vectors: [Hash; 2],
		/// Root of the pseudo-gradient.
		gradient: Hash,
		/// Root over the roots of its listed nodes.
		nodes: Hash,
	},
	/// The delta of the round as a code that leaves a residual.
	Code {
		/// Roots of the parameters at its start and at its end, and of the residual before.
		vectors: [Hash; 3],
	},
	/// What falls to a member of a quorum in an inner step.
	Span {
		/// Number of the member.
		member: u32,
		/// What it holds.
		span: Span,
		/// The step's number within the round, from 0.
		step: u32,
		/// Roots over its subtrees of parameters, first and second moments before it, and of the base of an adapter.
		vectors: [Hash; 4],
		/// Roots of what it is given, as far as there is that: rows and gradients, and last the sums.
		given: [Hash; MAX_GIVEN],
		/// Root over the roots of its listed nodes.
		nodes: Hash,
		/// The one result that is disputed; `None` for parameters and moments.
		out: Option<u32>,
	},
}

/// What a list of tile hashes belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum Target {
	/// A node's output.
	Node(u32),
	/// A vector that the job ends with.
	Vector(u32),
}

/// Where a game stands: what is asked for next, and of whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum Position {
	/// Defender: the state roots of an interval.
	Steps {
		/// First inner step of the interval.
		first: u32,
		/// Its steps, at least two.
		count: u32,
		/// Its start.
		start: Anchor,
		/// Its end, as it was revealed.
		end: Hash,
	},
	/// Challenger: one of them.
	PickStep {
		/// First inner step of the interval.
		first: u32,
		/// Its steps.
		count: u32,
		/// Its start.
		start: Anchor,
		/// Root over the state roots.
		list: Hash,
	},
	/// Defender: the nodes of a step.
	Nodes {
		/// The step.
		step: u32,
		/// State before it.
		before: Anchor,
		/// State root after it, as claimed.
		after: Hash,
	},
	/// Challenger: a node, or one of the vectors that the step ends with.
	PickNode {
		/// The step.
		site: Site,
		/// Roots of these vectors, as claimed.
		results: [Hash; 3],
	},
	/// Defender: the two ends that the delta is the difference of.
	Ends {
		/// State root after the last step.
		end: Hash,
		/// Root of the delta, as claimed.
		delta: Hash,
	},
	/// Defender: checkpoints of a claim about several outer steps.
	Checkpoints {
		/// Its steps, at least two.
		count: u32,
	},
	/// Challenger: one of them.
	PickCheckpoint {
		/// The claim's steps.
		count: u32,
		/// Root over the checkpoint roots.
		list: Hash,
	},
	/// Defender: the vectors around an outer step.
	Outer {
		/// The step.
		step: u32,
		/// Checkpoint root before it.
		before: Hash,
		/// Checkpoint root after it, as claimed.
		after: Hash,
	},
	/// Challenger: the pseudo-gradient, the parameters or the momentum.
	PickVector {
		/// The step.
		site: Site,
		/// Their roots, as claimed.
		results: [Hash; 3],
	},
	/// Defender: hashes of tiles, or of their tree at [`Position::height`] above them.
	Hashes {
		/// The job.
		site: Site,
		/// What the tiles are part of.
		target: Target,
		/// Root over them.
		root: Hash,
		/// The first of them.
		first: u32,
		/// How many there are, at least two.
		count: u32,
	},
	/// Challenger: one of these hashes.
	PickHash {
		/// The job.
		site: Site,
		/// What the tiles are part of.
		target: Target,
		/// Root over them.
		root: Hash,
		/// The first of them.
		first: u32,
		/// How many there are.
		count: u32,
	},
	/// Defender: states between the pieces of a tile.
	States {
		/// The job.
		site: Site,
		/// What the tile is part of.
		target: Target,
		/// Its number there.
		leaf: u32,
		/// Its hash, as claimed.
		tile: Hash,
		/// The pieces that it is computed in, at least two.
		pieces: u32,
	},
	/// Challenger: one of the pieces, with a witness.
	PickPiece {
		/// The job.
		site: Site,
		/// What the tile is part of.
		target: Target,
		/// Its number there.
		leaf: u32,
		/// Its hash, as claimed.
		tile: Hash,
		/// Root over the hashes of states; zero for a tile that is computed in one piece.
		states: Hash,
	},
	/// Defender: the parameters of an answer, and the nodes of reading its text.
	Read {
		/// The choice that the challenger doubts.
		index: u32,
	},
	/// Challenger: a node, or the choice that it doubts.
	PickRead {
		/// The text.
		site: Site,
		/// The choice.
		index: u32,
	},
	/// Defender: the two ends of a round whose delta is a code that leaves a residual.
	CodedEnds {
		/// State root after the last step.
		end: Hash,
		/// Root of the residual before the round.
		residual: Hash,
		/// Roots of the code and of the residual after the round, as claimed.
		results: [Hash; 2],
	},
	/// Defender: hashes of the tiles of the row of logits that a choice is made from.
	Row {
		/// The text.
		site: Site,
		/// The choice.
		index: u32,
	},
	/// Challenger: one of these tiles, or the choice.
	PickRow {
		/// The text.
		site: Site,
		/// The choice.
		index: u32,
		/// Root over the tiles.
		row: Hash,
	},
	/// Defender: what the members of a quorum have signed about an interval.
	Records {
		/// First inner step of the interval.
		first: u32,
		/// Its steps.
		count: u32,
		/// Its start.
		start: Anchor,
		/// Its end, as it was revealed.
		end: Hash,
	},
	/// Challenger: the member whose record is the first with something false, and that.
	PickRecord {
		/// First inner step of the interval.
		first: u32,
		/// Its steps.
		count: u32,
		/// Root over the members' parts.
		list: Hash,
	},
	/// The member: its part of the state after each step up to the disputed one.
	SpanSteps(Stand),
	/// Challenger: one of them, or the disputed step.
	PickSpanStep {
		/// What is disputed.
		stand: Stand,
		/// Root over them.
		list: Hash,
	},
	/// The member: the nodes of its part of a step.
	SpanNodes(Stand),
}

/// Number of entries of a tree of `count` leaves at `height` above them.
const fn width(count: u32, height: u32) -> u32 {
	count.div_ceil(1 << height)
}

/// Height at which a tree of `count` leaves has few enough entries to be posted.
const fn posted_height(count: u32) -> u32 {
	let mut height = 0;
	while height < 31 && width(count, height) > MAX_LIST {
		height += 1;
	}
	height
}

pub(super) fn expect_len(list: &[Hash], expected: u32) -> Result<(), GameError> {
	let found = u32::try_from(list.len()).unwrap_or(u32::MAX);
	if found == expected {
		Ok(())
	} else {
		Err(GameError::Length { expected, found })
	}
}

pub(super) fn expect(holds: bool, error: GameError) -> Result<(), GameError> {
	if holds {
		Ok(())
	} else {
		Err(error)
	}
}

impl Entry {
	/// The entry, if it is number `index` of the `count` under `root`.
	pub(super) fn at(&self, root: &Hash, count: u32, index: u32) -> Result<Hash, GameError> {
		expect(index < count, GameError::Place)?;
		expect(verify(root, &self.proof, count, index, self.hash), GameError::Entry)?;
		Ok(self.hash)
	}
}

/// The entry before number `index` of a list, which must be given unless it is the first.
pub(super) fn entry_before(before: Option<&Entry>, root: &Hash, count: u32, index: u32) -> Result<Option<Hash>, GameError> {
	match (index.checked_sub(1), before) {
		(None, None) => Ok(None),
		(Some(previous), Some(entry)) => entry.at(root, count, previous).map(Some),
		_ => Err(GameError::Entry),
	}
}

/// Vectors of zeros.
fn zeros(plan: &Plan) -> Hash {
	uniform_root(leaf_hash(&[0; LEAF_BYTES]), plan.vector_len())
}

impl<'a> Setting<'a> {
	/// Root of the checkpoint that round `self.round + offset` starts from.
	pub(super) fn checkpoint(&self, contents: &[Hash; 2], offset: u32) -> Result<Hash, GameError> {
		Ok(self.checkpoint_of(contents, self.round.checked_add(offset).ok_or(GameError::Place)?))
	}

	/// Root of the checkpoint that `round` starts from.
	fn checkpoint_of(&self, [params, momentum]: &[Hash; 2], round: u32) -> Hash {
		let adopted_steps = u64::from(round).saturating_mul(u64::from(self.train.inner_steps));
		checkpoint_root(params, momentum, round, adopted_steps)
	}

	/// What the delta of work is the difference from.
	fn base(&self) -> Result<Base, GameError> {
		match self.subject {
			Subject::Work { base, .. } => Ok(base.unwrap_or(Base { checkpoint: self.start, round: self.round })),
			Subject::Checkpoint { .. } | Subject::Answer(_) => Err(GameError::OtherClaim),
		}
	}

	/// Root of the state after `steps` inner steps.
	pub(super) fn state(&self, [params, first, second]: &[Hash; 3], steps: u32) -> Hash {
		state_root(params, first, second, steps, u64::from(steps).saturating_mul(u64::from(self.train.batch)))
	}

	/// Delta roots of outer step `step`.
	fn deltas(&self, step: u32) -> Result<&[Hash], GameError> {
		let Subject::Checkpoint { deltas, .. } = self.subject else { return Err(GameError::OtherClaim) };
		usize::try_from(step).ok().and_then(|step| deltas.get(step)).map(Vec::as_slice).ok_or(GameError::Place)
	}

	/// Inner steps behind each delta of outer step `step`; none where deltas do not weigh by them.
	fn steps_behind(&self, step: u32) -> Result<&[u32], GameError> {
		let Subject::Checkpoint { inner_steps, .. } = self.subject else { return Err(GameError::OtherClaim) };
		match self.train.weighs_steps() {
			true => usize::try_from(step).ok().and_then(|step| inner_steps.get(step)).map(Vec::as_slice).ok_or(GameError::Place),
			false => Ok(&[]),
		}
	}

	/// Inner steps of the work that is claimed.
	///
	/// # Errors
	/// [`GameError::OtherClaim`] if no work is.
	pub fn inner_steps(&self) -> Result<u32, GameError> {
		match self.subject {
			Subject::Work { steps, .. } => Ok(steps),
			Subject::Checkpoint { .. } | Subject::Answer(_) => Err(GameError::OtherClaim),
		}
	}

	/// Whether the checkpoints around outer step `step` are what they are said to consist of.
	fn check_outer(&self, step: u32, [before, after]: [Hash; 2], [from, to]: [&[Hash; 2]; 2]) -> Result<(), GameError> {
		let next = step.checked_add(1).ok_or(GameError::Place)?;
		expect(self.checkpoint(from, step)? == before && self.checkpoint(to, next)? == after, GameError::Root)
	}

	/// Roots of the parameters at the ends of a round's delta, if these are what checkpoint and last state consist of.
	fn ends(&self, end: Hash, start: &[Hash; 2], last: &[Hash; 3]) -> Result<[Hash; 2], GameError> {
		let Base { checkpoint, round } = self.base()?;
		expect(self.checkpoint_of(start, round) == checkpoint, GameError::Root)?;
		expect(self.state(last, self.inner_steps()?) == end, GameError::Root)?;
		let (&[from, _], &[to, ..]) = (start, last);
		Ok([from, to])
	}

	/// Whether nodes of an outer step are listed.
	pub fn aggregates_in_steps(&self) -> bool {
		self.train.aggregator.robust().is_some()
	}

	/// The same about work that was a quorum's; other claims are as they are.
	pub fn of_quorum<'b>(&self, quorum: Quorum<'b>) -> Setting<'b>
	where
		'a: 'b,
	{
		let subject = match self.subject {
			Subject::Work { corpus, window, steps, base, .. } => Subject::Work { corpus, window, steps, base, quorum: Some(quorum) },
			other => other,
		};
		Setting { subject, ..*self }
	}

	/// The quorum whose work it is.
	///
	/// # Errors
	/// [`GameError::OtherClaim`] for work of one machine, and other claims.
	pub(super) fn quorum(&self) -> Result<Quorum<'_>, GameError> {
		match self.subject {
			Subject::Work { quorum: Some(quorum), .. } => Ok(quorum),
			_ => Err(GameError::OtherClaim),
		}
	}

	/// The claim about an answer.
	fn answer(&self) -> Result<Answer<'_>, GameError> {
		match self.subject {
			Subject::Answer(claim) => Ok(claim),
			_ => Err(GameError::OtherClaim),
		}
	}

	/// The plan that reads the text of an answer.
	pub(super) fn reading(&self) -> Result<Plan, GameError> {
		let claim = self.answer()?;
		let rows = claim.rows().ok_or(GameError::Text)?;
		self.train.check_values(self.model)?;
		// What checkpoints of an adapter's run hold answers nothing by itself.
		expect(self.train.adapter.is_none(), GameError::OtherClaim)?;
		// The model is one that can be trained: what is too large is the text.
		Plan::reading(self.model, rows, claim.class).map_err(|_| GameError::Text)
	}

	/// The plan of `site`.
	///
	/// # Errors
	/// [`GameError`] for a configuration that is refused, or a site of another claim.
	pub fn plan(&self, site: &Site) -> Result<Plan, GameError> {
		Ok(match site {
			Site::Step { .. } => Plan::training(self.model, self.train)?,
			Site::Span { span, .. } => Plan::span(self.model, self.train, *span)?,
			Site::Delta { .. } | Site::Code { .. } => Plan::delta(self.model, self.train)?,
			Site::Outer { step, .. } | Site::Aggregate { step, .. } => {
				let deltas = u32::try_from(self.deltas(*step)?.len()).map_err(|_| GameError::Place)?;
				Plan::outer(self.model, self.train, deltas)?
			}
			Site::Read { .. } => self.reading()?,
		})
	}

	/// The parameters of `site`'s operators.
	fn parameters(&self, site: &Site) -> Result<Parameters, GameError> {
		Ok(match site {
			Site::Step { step, .. } | Site::Span { step, .. } => Parameters::new(self.model, self.train, self.round, *step)?,
			Site::Delta { .. } | Site::Code { .. } => Parameters::new(self.model, self.train, self.round, 0)?,
			Site::Outer { step, .. } | Site::Aggregate { step, .. } => {
				Parameters::outer(self.model, self.train, self.steps_behind(*step)?)?
			}
			Site::Read { .. } => Parameters::reading(self.model, self.train, self.answer()?.rows().ok_or(GameError::Text)?)?,
		})
	}
}

impl Target {
	/// Tile `leaf` of what `self` names.
	pub fn cell(self, plan: &Plan, leaf: u32) -> Option<Cell> {
		match self {
			Self::Node(node) => plan.node_cell(node, leaf),
			Self::Vector(vector) => plan.result_cell(vector, leaf),
		}
	}
}

impl Position {
	/// Blake2-256 of the encoded position: a move names by it what it answers, so that on another fork it is no answer to anything else.
	pub fn hash(&self) -> Hash {
		blake2_256(&self.encode())
	}

	/// Whose turn it is.
	pub fn turn(&self) -> Side {
		match self {
			Self::Steps { .. } | Self::Nodes { .. } | Self::Ends { .. } | Self::Checkpoints { .. } | Self::Outer { .. } => Side::Defender,
			Self::Hashes { .. } | Self::States { .. } | Self::Read { .. } | Self::Row { .. } | Self::CodedEnds { .. } => Side::Defender,
			Self::Records { .. } | Self::SpanSteps(_) | Self::SpanNodes(_) => Side::Defender,
			Self::PickRecord { .. } | Self::PickSpanStep { .. } => Side::Challenger,
			Self::PickStep { .. } | Self::PickNode { .. } | Self::PickCheckpoint { .. } | Self::PickVector { .. } => Side::Challenger,
			Self::PickHash { .. } | Self::PickPiece { .. } | Self::PickRead { .. } | Self::PickRow { .. } => Side::Challenger,
		}
	}

	/// The member of a quorum that defends here, as it signed what is disputed; `None` for the claimant itself.
	pub fn member(&self) -> Option<u32> {
		match self {
			Self::SpanSteps(stand) | Self::PickSpanStep { stand, .. } | Self::SpanNodes(stand) => Some(stand.member),
			_ => match self.site()? {
				Site::Span { member, .. } => Some(*member),
				_ => None,
			},
		}
	}

	/// The job that the dispute has come down to.
	fn site(&self) -> Option<&Site> {
		match self {
			Self::PickNode { site, .. } | Self::PickVector { site, .. } | Self::PickRead { site, .. } => Some(site),
			Self::Hashes { site, .. } | Self::PickHash { site, .. } | Self::States { site, .. } | Self::PickPiece { site, .. } => {
				Some(site)
			}
			_ => None,
		}
	}

	/// Root of the residual that the disputed delta begins with, where a game is about its code.
	pub fn residual(&self) -> Option<Hash> {
		match (self, self.site()) {
			(Self::CodedEnds { residual, .. }, _) | (_, Some(Site::Code { vectors: [.., residual] })) => Some(*residual),
			_ => None,
		}
	}

	/// In [`Position::Hashes`] and [`Position::PickHash`]: how high above the tiles the entries of the list stand.
	pub fn height(&self) -> u32 {
		match self {
			Self::Hashes { count, .. } | Self::PickHash { count, .. } => posted_height(*count),
			_ => 0,
		}
	}

	/// What `action` makes of this position.
	///
	/// # Errors
	/// [`GameError`] for a move that this position does not allow; nothing has happened then.
	pub fn play(&self, setting: &Setting<'_>, action: &Move) -> Result<Outcome, GameError> {
		use Position as P;
		Ok(Outcome::Next(match (*self, action) {
			(P::Steps { first, count, start, end }, Move::Steps(list)) => {
				expect_len(list, count)?;
				expect(list.last() == Some(&end), GameError::Root)?;
				P::PickStep { first, count, start, list: merkle_root(list) }
			}
			(P::PickStep { first, count, start, list }, Move::Step { index, before, after }) => {
				let before = entry_before(before.as_ref(), &list, count, *index)?.map_or(start, Anchor::State);
				P::Nodes { step: first.checked_add(*index).ok_or(GameError::Place)?, before, after: after.at(&list, count, *index)? }
			}
			(P::Nodes { step, before, after }, Move::Nodes { before: from, after: to, nodes }) => {
				let plan = Plan::training(setting.model, setting.train)?;
				expect_len(nodes, plan.listed_nodes())?;
				let vectors = match (before, from) {
					(Anchor::State(root), Contents::State(vectors)) => {
						expect(setting.state(vectors, step) == root, GameError::Root)?;
						*vectors
					}
					(Anchor::Checkpoint, Contents::Checkpoint(vectors)) => {
						expect(setting.checkpoint(vectors, 0)? == setting.start, GameError::Root)?;
						let &[params, _] = vectors;
						[params, zeros(&plan), zeros(&plan)]
					}
					_ => return Err(GameError::Root),
				};
				let done = step.checked_add(1).ok_or(GameError::Place)?;
				expect(setting.state(to, done) == after, GameError::Root)?;
				P::PickNode { site: Site::Step { step, vectors, nodes: merkle_root(nodes) }, results: *to }
			}
			(P::Read { index }, Move::Read { start, nodes }) => {
				expect_len(nodes, setting.reading()?.listed_nodes())?;
				expect(setting.checkpoint(start, 0)? == setting.start, GameError::Root)?;
				let &[params, _] = start;
				P::PickRead { site: Site::Read { vectors: [params], nodes: merkle_root(nodes) }, index }
			}
			(P::PickRead { site, index }, Move::Vector(vector)) => {
				expect(*vector == 0, GameError::Place)?;
				P::Row { site, index }
			}
			(P::Row { site, index }, Move::Hashes(list)) => {
				expect_len(list, row_tiles(setting.model.vocab))?;
				P::PickRow { site, index, row: merkle_root(list) }
			}
			(P::PickRow { site: Site::Read { vectors, nodes }, index, row }, action @ (Move::Piece { .. } | Move::Choice { .. })) => {
				let (claim, plan) = (setting.answer()?, setting.reading()?);
				let agreed = Agreed { vectors: &vectors, nodes, results: &[], tokens: Some(Source::Text(claim)) };
				let verdict = match action {
					Move::Piece { piece, before: None, after: Some(after), witness } => {
						let claimed = after.at(&row, row_tiles(setting.model.vocab), *piece)?;
						check_row(&plan, &agreed, claim.row(index).ok_or(GameError::Place)?, (*piece, claimed), witness)?
					}
					Move::Choice { index: chosen, witness } => {
						expect(*chosen == index, GameError::Place)?;
						check_choice(&plan, &agreed, index, &row, witness)?
					}
					_ => return Err(GameError::Entry),
				};
				return Ok(Outcome::Decided(ruling(verdict)));
			}
			(
				P::PickNode { site: site @ (Site::Step { nodes, .. } | Site::Aggregate { nodes, .. } | Site::Span { nodes, .. }), .. }
				| P::PickRead { site: site @ Site::Read { nodes, .. }, .. },
				Move::Node { index, root },
			) => {
				let plan = setting.plan(&site)?;
				let root = root.at(&nodes, plan.listed_nodes(), *index)?;
				let count = plan.node_tiles(*index).ok_or(GameError::Place)?;
				return Self::list(setting, &plan, site, Target::Node(*index), root, 0, count).map(Outcome::Next);
			}
			(P::Records { first, count, start, end }, Move::Records(records)) => {
				let parts = records.check(setting, (first, count), start, end)?;
				P::PickRecord { first, count, list: merkle_root(&parts.iter().map(Part::hash).collect::<Vec<_>>()) }
			}
			(P::PickRecord { first, count, list }, Move::Record { member, part, proof, step, out }) => {
				let stand = Stand::pick(setting, (first, count, list), (*member, part, proof), (*step, *out))?;
				match *step {
					0 => P::SpanNodes(stand),
					_ => P::SpanSteps(stand),
				}
			}
			(P::SpanSteps(stand), Move::Steps(list)) => {
				expect_len(list, stand.states())?;
				expect(stand.out.is_some() || list.last() == Some(&stand.part.after), GameError::Root)?;
				P::PickSpanStep { stand, list: merkle_root(list) }
			}
			(P::PickSpanStep { stand, list }, Move::Step { index, before, after }) => {
				P::SpanNodes(stand.narrowed(&list, *index, before.as_ref(), after)?)
			}
			(P::SpanNodes(stand), Move::SpanNodes(posted)) => {
				let (site, results) = stand.site(setting, posted)?;
				P::PickNode { site, results }
			}
			(P::PickNode { site: site @ Site::Span { out: Some(out), .. }, results: [root, ..] }, Move::Vector(vector)) => {
				expect(*vector == out, GameError::Place)?;
				let plan = setting.plan(&site)?;
				let count = plan.result_len(out).ok_or(GameError::Place)?;
				return Self::list(setting, &plan, site, Target::Vector(out), root, 0, count).map(Outcome::Next);
			}
			(P::PickNode { site, results } | P::PickVector { site, results }, Move::Vector(vector)) => {
				let plan = setting.plan(&site)?;
				expect(!matches!(site, Site::Span { .. }) || *vector < 3, GameError::Place)?;
				let root = *usize::try_from(*vector).ok().and_then(|vector| results.get(vector)).ok_or(GameError::Place)?;
				let count = plan.result_len(*vector).ok_or(GameError::Place)?;
				return Self::list(setting, &plan, site, Target::Vector(*vector), root, 0, count).map(Outcome::Next);
			}
			(P::Ends { end, delta }, Move::Ends { start, end: last }) => {
				let site = Site::Delta { vectors: setting.ends(end, start, last)? };
				let plan = setting.plan(&site)?;
				let count = plan.result_len(0).ok_or(GameError::Place)?;
				return Self::list(setting, &plan, site, Target::Vector(0), delta, 0, count).map(Outcome::Next);
			}
			(P::CodedEnds { end, residual, results: [code, after] }, Move::Ends { start, end: last }) => {
				let [from, to] = setting.ends(end, start, last)?;
				P::PickVector { site: Site::Code { vectors: [from, to, residual] }, results: [code, after, Hash::default()] }
			}
			(P::Checkpoints { count }, Move::Checkpoints(list)) => {
				let Subject::Checkpoint { claimed, .. } = setting.subject else { return Err(GameError::OtherClaim) };
				expect_len(list, count)?;
				expect(list.last() == Some(&claimed), GameError::Root)?;
				P::PickCheckpoint { count, list: merkle_root(list) }
			}
			(P::PickCheckpoint { count, list }, Move::Step { index, before, after }) => {
				let before = entry_before(before.as_ref(), &list, count, *index)?.unwrap_or(setting.start);
				P::Outer { step: *index, before, after: after.at(&list, count, *index)? }
			}
			(P::Outer { step, before, after }, Move::Outer { before: from, after: to, gradient }) => {
				setting.check_outer(step, [before, after], [from, to])?;
				if setting.deltas(step)?.is_empty() {
					return Ok(Outcome::Decided(if from == to { Ruling::Unfounded } else { Ruling::Fraud }));
				}
				expect(!setting.aggregates_in_steps(), GameError::WrongMove)?;
				let &[params, momentum] = to;
				P::PickVector { site: Site::Outer { step, vectors: *from, gradient: *gradient }, results: [*gradient, params, momentum] }
			}
			(P::Outer { step, before, after }, Move::Aggregate { before: from, after: to, gradient, nodes }) => {
				setting.check_outer(step, [before, after], [from, to])?;
				expect(setting.aggregates_in_steps() && !setting.deltas(step)?.is_empty(), GameError::WrongMove)?;
				let site = Site::Aggregate { step, vectors: *from, gradient: *gradient, nodes: merkle_root(nodes) };
				expect_len(nodes, setting.plan(&site)?.listed_nodes())?;
				let &[params, momentum] = to;
				P::PickNode { site, results: [*gradient, params, momentum] }
			}
			(P::Hashes { site, target, root, first, count }, Move::Hashes(list)) => {
				let cover = match site {
					Site::Span { .. } => subtrees(&setting.plan(&site)?, target, first, count).map(|cover| cover.subtrees().len()),
					_ => None,
				};
				match cover {
					Some(cover) => expect_len(list, u32::try_from(cover).map_err(|_| GameError::Place)?)?,
					None => expect_len(list, width(count, posted_height(count)))?,
				}
				expect(merkle_root(list) == root, GameError::Root)?;
				P::PickHash { site, target, root, first, count }
			}
			(P::PickHash { site, target, root, first, count }, Move::Hash { index, entry }) => {
				let plan = setting.plan(&site)?;
				if let Some(cover) = subtrees(&plan, target, first, count) {
					let hash = entry.at(&root, u32::try_from(cover.subtrees().len()).map_err(|_| GameError::Place)?, *index)?;
					let (first, below) = cover.part(*index).ok_or(GameError::Place)?;
					return Self::list(setting, &plan, site, target, hash, first, below).map(Outcome::Next);
				}
				let height = posted_height(count);
				let hash = entry.at(&root, width(count, height), *index)?;
				let offset = index.checked_mul(1 << height).ok_or(GameError::Place)?;
				let below = count.checked_sub(offset).ok_or(GameError::Place)?.min(1 << height);
				let leaf = first.checked_add(offset).ok_or(GameError::Place)?;
				return Self::list(setting, &plan, site, target, hash, leaf, below).map(Outcome::Next);
			}
			(P::States { site, target, leaf, tile, pieces }, Move::States(list)) => {
				expect_len(list, pieces.saturating_sub(1))?;
				P::PickPiece { site, target, leaf, tile, states: merkle_root(list) }
			}
			(P::PickPiece { site, target, leaf, tile, states }, Move::Piece { piece, before, after, witness }) => {
				let plan = setting.plan(&site)?;
				let cell = target.cell(&plan, leaf).ok_or(GameError::Place)?;
				let job = Job::new(&plan, setting.parameters(&site)?);
				let between = job.pieces(cell).ok_or(GameError::Place)?.saturating_sub(1);
				let before = entry_before(before.as_ref(), &states, between, *piece)?;
				let after = match after {
					None => {
						expect(*piece == between, GameError::Entry)?;
						tile
					}
					Some(entry) => entry.at(&states, between, *piece)?,
				};
				let question = Question { cell, piece: *piece, before: before.unwrap_or_default(), after };
				return judge(setting, &job, &site, &question, witness).map(Outcome::Decided);
			}
			_ => return Err(GameError::WrongMove),
		}))
	}

	/// What follows when a part of `count` tiles with this root is disputed, the first of which is tile `first` of `target`.
	fn list(setting: &Setting<'_>, plan: &Plan, site: Site, target: Target, root: Hash, first: u32, count: u32) -> Result<Self, GameError> {
		if count > 1 {
			return Ok(Self::Hashes { site, target, root, first, count });
		}
		let cell = target.cell(plan, first).ok_or(GameError::Place)?;
		let pieces = Job::new(plan, setting.parameters(&site)?).pieces(cell).ok_or(GameError::Place)?;
		Ok(match pieces {
			1 => Self::PickPiece { site, target, leaf: first, tile: root, states: Hash::default() },
			_ => Self::States { site, target, leaf: first, tile: root, pieces },
		})
	}
}

/// Executes the disputed piece.
fn judge(setting: &Setting<'_>, job: &Job<'_>, site: &Site, question: &Question, witness: &[u8]) -> Result<Ruling, GameError> {
	let verdict = match *site {
		Site::Step { step, vectors, nodes } => {
			let Subject::Work { corpus, .. } = setting.subject else { return Err(GameError::OtherClaim) };
			let windows = setting.subject.windows(step);
			let tokens = Some(Source::Dataset(Tokens { corpus, window: &windows }));
			// Of an adapter the base is one more.
			let vectors: Vec<Hash> = vectors.into_iter().chain(setting.train.adapter.map(|adapter| adapter.base)).collect();
			check(job, &Agreed { vectors: &vectors, nodes, results: &[], tokens }, question, witness)
		}
		Site::Span { step, vectors, given, nodes, .. } => {
			let windows = setting.subject.windows(step);
			let Subject::Work { corpus, .. } = setting.subject else { return Err(GameError::OtherClaim) };
			let tokens = Some(Source::Dataset(Tokens { corpus, window: &windows }));
			let own = if setting.train.adapter.is_some() { 4 } else { 3 };
			let vectors: Vec<Hash> = vectors.into_iter().take(own).chain(given).collect();
			check(job, &Agreed { vectors: &vectors, nodes, results: &[], tokens }, question, witness)
		}
		Site::Code { vectors } => {
			check(job, &Agreed { vectors: &vectors, nodes: Hash::default(), results: &[], tokens: None }, question, witness)
		}
		Site::Delta { vectors } => {
			check(job, &Agreed { vectors: &vectors, nodes: Hash::default(), results: &[], tokens: None }, question, witness)
		}
		Site::Outer { step, vectors, gradient } => {
			let vectors: Vec<Hash> = vectors.into_iter().chain(setting.deltas(step)?.iter().copied()).collect();
			check(job, &Agreed { vectors: &vectors, nodes: Hash::default(), results: &[gradient], tokens: None }, question, witness)
		}
		Site::Aggregate { step, vectors, gradient, nodes } => {
			let vectors: Vec<Hash> = vectors.into_iter().chain(setting.deltas(step)?.iter().copied()).collect();
			check(job, &Agreed { vectors: &vectors, nodes, results: &[gradient], tokens: None }, question, witness)
		}
		Site::Read { vectors, nodes } => {
			let tokens = Some(Source::Text(setting.answer()?));
			check(job, &Agreed { vectors: &vectors, nodes, results: &[], tokens }, question, witness)
		}
	}?;
	Ok(ruling(verdict))
}

/// What a verdict says about the claim.
fn ruling(verdict: Verdict) -> Ruling {
	match verdict {
		// Whoever computed a loss or a norm that is not finite has ended the job there, and revealed nothing.
		Verdict::Refuted | Verdict::Diverged => Ruling::Fraud,
		Verdict::Upheld => Ruling::Unfounded,
	}
}
