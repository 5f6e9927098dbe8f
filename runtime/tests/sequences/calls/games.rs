//! Moves of disputes: the right kind of move for any position, about a part that is drawn.

use super::{
	claims::{self, state, tile, vector},
	datasets::text_of,
	signed,
	witness::Author,
	Act, Deed,
};
use neuroshard_graph::{
	game::{Anchor, Contents, Entry, Move, Position, Setting, Side, Site, Subject, Target},
	merkle::{level, merkle_root, prove, uniform_root, Hash},
	plan::Plan,
	resume::{Job, Parameters},
	tiles::bytes_of,
	witness::state_hash,
	Aggregator,
};
use neuroshard_runtime::{Disputes, Training};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	grounds::Grounds,
	H256,
};
use pallet_neuro_disputes::Call;

pub fn deed(act: &Act) -> Deed {
	let (claim, challenger) = act.one_of(Disputes::games(None))?;
	let game = Disputes::game(claim.clone(), challenger.clone())?;
	let who = match game.turn {
		Side::Defender => claim.who.clone(),
		Side::Challenger => challenger.clone(),
	};
	// Who has no answer says something senseless, and its clock goes on.
	let action = answer(act, &claim, &game.position).unwrap_or(Move::Hashes(Vec::new()));
	signed(who, Call::play { claim, challenger, position: H256(game.position.hash()), action })
}

fn answer(act: &Act, claim: &ClaimId, position: &Position) -> Option<Move> {
	let ClaimId { run, round, kind, who } = claim.clone();
	let grounds = match kind {
		ClaimKind::Work => Grounds::Work { round, claim: Training::work_claim(run, round, who)? },
		ClaimKind::Attestation => Training::attestation_claim(run, round, who)?.into(),
		ClaimKind::Audit => Grounds::Work { round, claim: Disputes::audit_claim(run, round, who)?.claim },
		// Nobody has signed a receipt here.
		ClaimKind::Answer(_) => return None,
	};
	let (numbers, text) = (claims::numbers(run), text_of(Training::run(run)?.config.dataset));
	grounds.judge(|setting| Player { act, setting, numbers: &numbers, text }.answer(position))
}

/// Either side of a game.
struct Player<'a> {
	act: &'a Act,
	setting: &'a Setting<'a>,
	/// Numbers that tiles can be full of.
	numbers: &'a [f32],
	/// Value of all bytes of the dataset.
	text: u8,
}

/// Tile of a job that a game has come down to.
#[derive(Clone, Copy)]
struct Disputed<'a> {
	site: &'a Site,
	target: Target,
	leaf: u32,
}

fn entry(list: &[Hash], index: u32) -> Option<Entry> {
	Some(Entry { hash: *list.get(usize::try_from(index).ok()?)?, proof: prove(list, index)? })
}

/// Roots of a step's nodes, all of zeros.
fn nodes(plan: &Plan) -> Option<Vec<Hash>> {
	(0..plan.listed_nodes()).map(|node| Some(uniform_root(tile(0.0), plan.node_tiles(node)?))).collect()
}

impl Player<'_> {
	/// The number from which `of` makes `root`.
	fn number(&self, root: Hash, of: impl Fn(f32) -> Hash) -> Option<f32> {
		self.numbers.iter().copied().find(|number| of(*number) == root)
	}

	fn below(&self, count: u32) -> Option<u32> {
		self.act.amount.checked_rem(count)
	}

	fn answer(&self, position: &Position) -> Option<Move> {
		let zeros = vector(0.0);
		Some(match position {
			Position::Steps { first, count, end, .. } => Move::Steps(self.steps(*first, *count, *end)),
			Position::PickStep { first, count, list, .. } => {
				let steps = |number| self.steps(*first, *count, state(number, first + count));
				self.pick_step(&steps(self.number(*list, |number| merkle_root(&steps(number)))?))?
			}
			Position::Nodes { step, before, after } => {
				let before = match *before {
					Anchor::Checkpoint => Contents::Checkpoint([vector(self.start()), zeros]),
					Anchor::State(root) => Contents::State([vector(self.number(root, |number| state(number, *step))?), zeros, zeros]),
				};
				let after = [vector(self.number(*after, |number| state(number, step + 1))?), zeros, zeros];
				Move::Nodes { before, after, nodes: nodes(&Plan::training(self.setting.model, self.setting.train).ok()?)? }
			}
			Position::PickNode { site, .. } if self.act.is_one_in(2) => {
				let nodes = nodes(&self.setting.plan(site).ok()?)?;
				let index = self.below(nodes.len().try_into().ok()?)?;
				Move::Node { index, root: entry(&nodes, index)? }
			}
			Position::PickNode { .. } | Position::PickVector { .. } => Move::Vector(self.below(3)?),
			Position::Ends { end, .. } | Position::CodedEnds { end, .. } => {
				let last = self.number(*end, |number| state(number, self.setting.train.inner_steps))?;
				Move::Ends { start: [vector(self.start()), zeros], end: [vector(last), zeros, zeros] }
			}
			Position::Checkpoints { count } => Move::Checkpoints(self.checkpoints(*count)?),
			Position::PickCheckpoint { count, .. } => self.pick_step(&self.checkpoints(*count)?)?,
			Position::Outer { step, before, after } => {
				let round = self.setting.round + step;
				let vectors = |root, round| Some([vector(self.number(root, |number| claims::checkpoint(number, round).0)?), zeros]);
				let (before, after, gradient) = (vectors(*before, round)?, vectors(*after, round + 1)?, zeros);
				let Subject::Checkpoint { deltas, .. } = self.setting.subject else { return None };
				let deltas = deltas.get(usize::try_from(*step).ok()?)?.len();
				match self.setting.train.aggregator {
					Aggregator::Robust(_) | Aggregator::Compressed(_) if deltas > 0 => {
						let plan = Plan::outer(self.setting.model, self.setting.train, u32::try_from(deltas).ok()?).ok()?;
						Move::Aggregate { before, after, gradient, nodes: nodes(&plan)? }
					}
					_ => Move::Outer { before, after, gradient },
				}
			}
			Position::Hashes { root, count, .. } => Move::Hashes(self.hashes(position, *root, *count)?),
			Position::PickHash { root, count, .. } => {
				let list = self.hashes(position, *root, *count)?;
				let index = self.below(list.len().try_into().ok()?)?;
				Move::Hash { index, entry: entry(&list, index)? }
			}
			Position::States { site, target, leaf, .. } => {
				let states = self.states(Disputed { site, target: *target, leaf: *leaf })?;
				Move::States(states.iter().map(|state| state_hash(state)).collect())
			}
			Position::PickPiece { site, target, leaf, .. } => self.piece(Disputed { site, target: *target, leaf: *leaf })?,
			Position::Read { .. } | Position::PickRead { .. } | Position::Row { .. } | Position::PickRow { .. } => return None,
		})
	}

	/// Parameters of the checkpoint that the claim begins with.
	fn start(&self) -> f32 {
		claims::start(H256(self.setting.start), self.setting.round)
	}

	/// States after each step of an interval.
	fn steps(&self, first: u32, count: u32, end: Hash) -> Vec<Hash> {
		(1..count).map(|step| state(self.start(), first + step)).chain([end]).collect()
	}

	/// Checkpoints after each outer step.
	fn checkpoints(&self, count: u32) -> Option<Vec<Hash>> {
		let Subject::Checkpoint { claimed, .. } = self.setting.subject else { return None };
		Some((1..count).map(|step| claims::checkpoint(0.0, self.setting.round + step).0).chain([claimed]).collect())
	}

	fn pick_step(&self, list: &[Hash]) -> Option<Move> {
		let index = self.below(list.len().try_into().ok()?)?;
		let before = match index.checked_sub(1) {
			Some(before) => Some(entry(list, before)?),
			None => None,
		};
		Some(Move::Step { index, before, after: entry(list, index)? })
	}

	/// Hashes of so many tiles that are alike.
	fn hashes(&self, position: &Position, root: Hash, count: u32) -> Option<Vec<Hash>> {
		let number = self.number(root, |number| uniform_root(tile(number), count))?;
		Some(level(&vec![tile(number); usize::try_from(count).ok()?], position.height()))
	}

	/// Applies `rule` to the job, and to who writes down what its pieces read.
	fn on<R>(&self, site: &Site, rule: impl FnOnce(&Job<'_>, Author<'_>) -> Option<R>) -> Option<R> {
		let Setting { model, train, round, subject, .. } = *self.setting;
		let plan = self.setting.plan(site).ok()?;
		let (step, vectors, results, nodes) = match *site {
			Site::Step { step, vectors, .. } => (step, vectors.to_vec(), Vec::new(), nodes(&plan)?),
			Site::Delta { vectors } => (0, vectors.to_vec(), Vec::new(), Vec::new()),
			Site::Code { vectors } => (0, vectors.to_vec(), Vec::new(), Vec::new()),
			Site::Outer { step, vectors, gradient } => {
				let Subject::Checkpoint { deltas, .. } = subject else { return None };
				let deltas = deltas.get(usize::try_from(step).ok()?)?;
				(0, [&vectors[..], deltas].concat(), vec![gradient], Vec::new())
			}
			Site::Aggregate { step, vectors, gradient, .. } => {
				let Subject::Checkpoint { deltas, .. } = subject else { return None };
				let deltas = deltas.get(usize::try_from(step).ok()?)?;
				(0, [&vectors[..], deltas].concat(), vec![gradient], nodes(&plan)?)
			}
			// No claim of these is about an answer, or of a quorum.
			Site::Read { .. } | Site::Span { .. } => return None,
		};
		let window = |sequence| match subject {
			Subject::Work { window, .. } => window(step, sequence),
			Subject::Checkpoint { .. } | Subject::Answer(_) => None,
		};
		let (numbers, text) = (self.numbers, self.text);
		let author = Author { plan: &plan, vectors, results, nodes: &nodes, numbers, text, window: &window, bytes: Vec::new() };
		rule(&Job::new(&plan, Parameters::new(model, train, round, step).ok()?), author)
	}

	/// States between the pieces of a tile.
	fn states(&self, Disputed { site, target, leaf }: Disputed<'_>) -> Option<Vec<Vec<f32>>> {
		self.on(site, |job, mut author| {
			let cell = target.cell(job.plan(), leaf)?;
			let mut states: Vec<Vec<f32>> = Vec::new();
			for piece in 0..job.pieces(cell)?.saturating_sub(1) {
				let before = states.last().cloned().unwrap_or_default();
				states.push(job.advance(cell, piece, before, &mut author).ok()?);
			}
			Some(states)
		})
	}

	fn piece(&self, disputed: Disputed<'_>) -> Option<Move> {
		let states = self.states(disputed)?;
		let hashes: Vec<Hash> = states.iter().map(|state| state_hash(state)).collect();
		let piece = self.below(u32::try_from(states.len()).ok()? + 1)?;
		let before = piece.checked_sub(1).and_then(|before| entry(&hashes, before));
		let after = entry(&hashes, piece);
		let witness = self.on(disputed.site, |job, mut author| {
			let state = usize::try_from(piece).ok()?.checked_sub(1).and_then(|before| states.get(before)).cloned().unwrap_or_default();
			author.bytes = bytes_of(&state);
			job.advance(disputed.target.cell(job.plan(), disputed.leaf)?, piece, state, &mut author).ok()?;
			Some(author.bytes)
		})?;
		Some(Move::Piece { piece, before, after, witness })
	}
}
