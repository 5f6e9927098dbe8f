//! Whole rounds of quorums that are disputed: the leader and its members answer from their files, and whoever lied loses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
mod game;
mod seats;

use codec::{DecodeAll, Encode};
use game::{games, honest, referee, signed, window_of, End, World};
use neuroshard_compute::{
	player::{Player, WorkStory},
	trace::Mistake,
};
use neuroshard_graph::{
	config::Code,
	game::{open_work, Doubt, Move, Position, Record, Ruling, Setting, Side, Signature, Site, Target},
	span::cut,
	tiles, Aggregator, Compressed, Hash, ParamLayout, Robust, Rule, TopK, F32,
};
use neuroshard_quorum::{Defence, Slip, Slipped, Sums};
use neuroshard_training::files::TileFile;
use neuroshard_types::run::Work;
use seats::{attempt, Batches, LEADER};
use std::{convert::Infallible, sync::Arc};

/// A quorum that has worked on a round of the world's text, and what it reveals.
struct Worked<'a> {
	world: &'a World,
	seats: seats::Setting,
	work: Work,
	sent: Vec<TileFile>,
	slip: Option<(usize, Slip)>,
}

/// The world of a seed, whose round starts from the first checkpoint, with two members or more.
fn world(seed: u64, aggregator: Aggregator) -> World {
	let world = World::new(seed);
	let train = neuroshard_graph::TrainConfig { aggregator, ..world.train.clone() };
	let counts = [world.model.layers.div_ceil(2) + 1, world.model.layers / 2 + 1];
	let spans = cut(&world.model, &counts).unwrap();
	World { train, spans, ..world }
}

impl<'a> Worked<'a> {
	/// `None` if the round diverges by the slip.
	fn new(world: &'a mut World, slip: Option<(usize, Slip)>) -> Option<Self> {
		let all: Vec<Vec<u32>> = (0..world.train.inner_steps).map(|step| world.tokens(step)).collect();
		let batches: Batches = Arc::new(move |_, step| all[step as usize].clone());
		let seats = seats::Setting::of((&world.model, &world.train), world.spans.clone(), world.base.clone(), batches);
		let layout = ParamLayout::trained(&world.model, &world.train).unwrap();
		let bytes = std::fs::read(seats.checkpoint(0).params.path()).unwrap();
		world.theta = tiles::decode(&layout, &bytes[..layout.tile_count() * tiles::LEAF_BYTES]).unwrap();
		let world: &'a World = world;
		let of = |(member, seat): (usize, neuroshard_quorum::Seat<_>)| match slip {
			Some((liar, slip)) if liar == member => seat.with_slip(Some(slip)),
			_ => seat,
		};
		let members = seats.seats(0, None).into_iter().enumerate().map(of).collect();
		let mut attempts = attempt(&seats, 0, members, &seats::honest());
		let (_, _, placed) = attempts.swap_remove(LEADER);
		let placed = placed.ok()?;
		let files = placed.sent.unwrap();
		let sent = core::iter::once(files.delta).chain(files.residual.map(|(_, after)| after)).collect();
		Some(Self { world, seats, work: placed.work, sent, slip })
	}

	fn roots(&self) -> Vec<Hash> {
		self.work.state_roots.iter().map(|root| root.0).collect()
	}

	/// Whoever has the whole model, and may be mistaken.
	fn whole(&self, mistake: Option<Mistake>) -> WorkStory<impl FnMut(u32, u32, &mut [u32]) -> Result<(), Infallible> + '_> {
		let World { model, train, theta, base, text, exec, spans, .. } = self.world;
		let momentum = self.seats.checkpoint(0).header.momentum.0;
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| {
			tokens.copy_from_slice(text.read(window_of(step, sequence).unwrap(), train.seq_len));
			Ok(())
		};
		let start = neuroshard_compute::player::WorkStart { theta: theta.clone(), momentum, model: base.clone().map(Arc::new) };
		let story = WorkStory::new(exec.clone(), model, train, 0, start, read).unwrap().of_quorum(spans.clone());
		match mistake {
			Some(mistake) => story.with_mistake(mistake),
			None => story,
		}
	}

	/// The sides of all members, by number.
	fn defences(&self) -> Vec<Defence> {
		let of = |member: usize| {
			let folder = self.seats.path(&format!("round-0-member-{member}"));
			let sources = self.seats.sources(folder.clone(), 0);
			let header = sources.checkpoint.header;
			let start = Some([header.params.0, header.momentum.0]);
			let slip = self.slip.filter(|(liar, _)| *liar == member).map(|(_, slip)| slip);
			Defence::new(self.seats.place(member, 0), folder, self.world.exec.clone(), sources.base, start).with_slip(slip)
		};
		(0..self.world.spans.len()).map(of).collect()
	}

	/// Leaves each member another attempt at the first interval, in which somebody told other sums: it has ended in a record, and nobody disputes it.
	fn has_another_attempt(&self) {
		for member in 0..self.world.spans.len() {
			let keep = self.seats.path(&format!("round-0-member-{member}/keep"));
			let (from, to) = (keep.join("interval-0000000000-0000000000"), keep.join("interval-0000000000-0000000001"));
			seats::copy(&from, &to);
			let path = to.join("step-0000000000-sums");
			let mut told: Vec<Sums> = DecodeAll::decode_all(&mut &std::fs::read(&path).unwrap()[..]).unwrap();
			told.iter_mut().flat_map(|sums| &mut sums.squares).for_each(|square| *square *= 3.0);
			std::fs::write(&path, told.encode()).unwrap();
			let path = to.join("record");
			let (mut record, signature): (Record, Signature) = DecodeAll::decode_all(&mut &std::fs::read(&path).unwrap()[..]).unwrap();
			record.steps[0].sums = [9; 32];
			std::fs::write(&path, (record, signature).encode()).unwrap();
		}
	}

	/// What comes of a game that a challenger opens by a doubt.
	fn disputed(&self, doubt: Doubt, mistake: Option<Mistake>) -> End {
		let setting = self.world.setting(&signed);
		let opened = open_work(&setting, &self.roots(), self.work.delta_root.0, doubt).unwrap();
		let mut challenger = Player::new(setting, Side::Challenger, self.whole(mistake), Some(&self.world.text));
		let mut defences = self.defences();
		let mut defender = |position: &Position, _: &[Move]| self.respond(&setting, &mut defences, position);
		let end = referee(&setting, opened, &mut defender, &mut honest(&mut challenger));
		end
	}

	fn respond(&self, setting: &Setting<'_>, defences: &mut [Defence], position: &Position) -> Option<Move> {
		let member = position.member().map_or(LEADER, |member| member as usize);
		// As after a restart: nothing is in memory but what the files have.
		let asked = defences[member].sent(position).unwrap();
		let file = asked.map(|(vector, root)| self.sent.get(vector as usize).filter(|file| file.root() == root).unwrap());
		let others = (0..defences.len()).find(|other| *other != member).unwrap();
		if position.member().is_some() {
			assert!(defences[others].respond(setting, position, file).unwrap().is_none(), "it is not its turn");
		}
		defences[member].respond(setting, position, file).unwrap().or_else(|| {
			// A code that is computed in pieces.
			assert!(matches!(position, Position::States { site: Site::Code { .. } | Site::Delta { .. }, .. }), "{position:?}");
			Player::new(*setting, Side::Defender, self.whole(None), None).play(position, &[]).ok()
		})
	}
}

fn coded(code: Code) -> Aggregator {
	Aggregator::Compressed(Compressed { code, robust: Robust { clip: F32::new(0.0), rule: Rule::Mean } })
}

const TOP: Code = Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine: false });

#[test]
fn the_member_that_slipped_loses_whatever_it_gave_wrongly() {
	let mut lost = std::collections::BTreeMap::new();
	for seed in 0..games() / 5 {
		for (number, what) in [Slipped::Rows, Slipped::Gradient, Slipped::Parameters].into_iter().enumerate() {
			let mut world = world(seed, Aggregator::Mean);
			let liar = (seed as usize + number) % world.spans.len();
			let slip = Slip { step: (seed % 4) as u32, what, element: seed * 7_919 + 3, mask: 1 << (18 + seed % 5) };
			let place = world.place(liar);
			let Some(worked) = Worked::new(&mut world, Some((liar, slip))) else { continue };
			let doubt = worked.whole(None).doubt(&worked.roots(), worked.work.delta_root.0).unwrap();
			// Who gives no rows, or no gradient, gives no wrong ones.
			assert!(doubt.is_some() || slip.mistake(&place).is_none(), "{seed} {slip:?}");
			let Some(doubt) = doubt else { continue };
			let end = worked.disputed(doubt, None);
			assert!(matches!(end, End::Ruled(Ruling::Fraud, Some(member)) if member as usize == liar), "{seed} {slip:?}: {end:?}");
			*lost.entry(number).or_insert(0) += 1;
		}
	}
	assert!((0..3).all(|what| lost.get(&what).is_some_and(|games| *games > 5)), "{lost:?}");
}

#[test]
fn whoever_doubts_right_work_or_a_right_delta_loses() {
	let mut decided = 0;
	for (seed, aggregator) in [(0, Aggregator::Mean), (3, Aggregator::Mean), (1, coded(Code::Int8)), (2, coded(TOP))] {
		let mut world = world(seed, aggregator);
		let worked = Worked::new(&mut world, None).unwrap();
		assert_eq!(worked.whole(None).doubt(&worked.roots(), worked.work.delta_root.0).unwrap(), None);
		worked.has_another_attempt();
		let steps = worked.world.train.inner_steps;
		for (doubt, step) in [(Doubt::Delta, steps), (Doubt::Interval(0), 0)] {
			for place in 0..4 {
				let mistake = Mistake { step, stage: 0, output: 0, element: 131 * place, mask: 1 << 22 };
				let end = worked.disputed(doubt, Some(mistake));
				assert!(matches!(end, End::Ruled(Ruling::Unfounded, _) | End::Silent(Side::Challenger, _)), "{seed} {doubt:?}: {end:?}");
				decided += u32::from(matches!(end, End::Ruled(..)));
			}
		}
	}
	assert!(decided > 10, "{decided} games were decided by a witness");
}

#[test]
fn a_part_of_a_long_list_of_tiles_is_told_whatever_its_root() {
	let mut world = world(0, Aggregator::Mean);
	let worked = Worked::new(&mut world, None).unwrap();
	let setting = worked.world.setting(&signed);
	// As after a choice among hashes of subtrees: the root is that of four tiles.
	let (site, target) = (Site::Delta { vectors: [[1; 32], [2; 32]] }, Target::Vector(0));
	let position = Position::Hashes { site, target, root: [3; 32], first: 4, count: 4 };
	let mut leader = worked.defences().swap_remove(LEADER);
	assert_eq!(leader.sent(&position).unwrap(), Some((0, worked.work.delta_root)));
	let told = leader.respond(&setting, &position, Some(&worked.sent[0])).unwrap();
	let bytes = std::fs::read(worked.sent[0].path()).unwrap();
	let expected = bytes.chunks(tiles::LEAF_BYTES).skip(4).take(4).map(tiles::leaf_hash).collect();
	assert_eq!(told, Some(Move::Hashes(expected)));
}
