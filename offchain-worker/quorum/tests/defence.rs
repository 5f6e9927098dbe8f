//! A member that is challenged defends itself by its files alone: an honest one wins, and one that lied loses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
mod game;
mod liar;

use common::{
	network::{led, Network},
	Stamp,
};
use game::{referee, signed, End, Strategy, World};
use liar::Liar;
use neuroshard_compute::player::Player;
use neuroshard_graph::{
	game::{open_work, Doubt, Ruling, Side},
	merkle::Hash,
	span::{gave, given, Seam},
};
use neuroshard_quorum::{DefenceError, Keep, Led, Signer};
use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path};
use tempfile::TempDir;

/// Members that each keep what they need in a folder of their own.
fn keeping(world: &World, folder: &Path) -> Network {
	let network = world.network();
	let of =
		|(number, member): (usize, neuroshard_quorum::Member<Stamp>)| member.with_keep(Keep::new(folder.join(number.to_string())).unwrap());
	Network::of(network.members.into_iter().enumerate().map(of).collect())
}

/// All intervals of the round by members that keep them, and what the leader has of each.
fn worked(world: &World, folder: &Path) -> Vec<Led> {
	let (mut network, mut leader) = (keeping(world, folder), world.leader());
	let intervals: Vec<_> = world.intervals().collect();
	intervals
		.into_iter()
		.map(|steps| {
			network.run(steps.clone(), |step| world.tokens(step), common::network::first);
			led(&mut leader, steps, network.told())
		})
		.collect()
}

/// The strategy of a quorum whose leader posts records, and whose members play by their files.
fn by_files<'a>(world: &'a World, folder: &'a Path, number: usize, led: &'a Led) -> Box<Strategy<'a>> {
	let first = world.intervals().nth(number).unwrap().start;
	world.defends(led, move |member| {
		let kept = Keep::new(folder.join(member.to_string())).unwrap().kept(first).unwrap().pop().unwrap();
		assert_eq!(kept.record().unwrap(), led.records.records[member]);
		kept.story(world.exec.clone(), &world.place(member), world.base_of(member)).unwrap()
	})
}

#[test]
fn a_member_that_is_challenged_falsely_wins_by_its_files_alone() {
	let mut ends = BTreeMap::new();
	for seed in 0..game::games() {
		let (world, folder) = (World::new(seed), TempDir::new().unwrap());
		let led = worked(&world, folder.path());
		let number = seed as usize % led.len();
		let roots: Vec<Hash> = led.iter().map(|led| led.root).collect();
		let Some(story) = world.story(number, Some(world.drawn(number, seed))) else { continue };
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number as u32)).unwrap();
		let mut challenger = Player::new(setting, Side::Challenger, story, Some(&world.text));
		let mut defender = by_files(&world, folder.path(), number, &led[number]);
		let end = referee(&setting, opened, &mut defender, &mut game::honest(&mut challenger));
		assert!(matches!(end, End::Ruled(Ruling::Unfounded, _) | End::Silent(Side::Challenger, _)), "seed {seed}: {end:?}");
		*ends.entry(matches!(end, End::Ruled(..))).or_insert(0) += 1;
	}
	assert!(ends.get(&true).is_some_and(|decided| *decided > 5), "{ends:?}");
}

#[test]
fn a_member_that_lied_to_a_quorum_loses_and_the_others_do_not() {
	let (mut lost, mut harmless) = (0, 0);
	for seed in 0..game::games() {
		let world = World::new(seed);
		if world.base.is_some() {
			continue;
		}
		let mistake = world.drawn(0, seed);
		// What it tells is a number like any other.
		let mistake = (mistake.0, neuroshard_compute::trace::Mistake { mask: 1 << (seed % 23), ..mistake.1 });
		let mut quorum = world.network();
		let mut liar = Liar::new(&world, mistake);
		let told = liar.among(&world, &mut quorum);
		let led = led(&mut world.leader(), world.intervals().next().unwrap(), told);
		let truth = world.story(0, None).unwrap();
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &[led.root], Hash::default(), Doubt::Interval(0)).unwrap();
		let mut challenger = Player::new(setting, Side::Challenger, truth, Some(&world.text));
		let mut story = Some(liar.story);
		let mut defender = world.defends(&led, |member| {
			assert_eq!(member, mistake.0, "seed {seed}: {:?}", mistake.1);
			story.take().unwrap()
		});
		let end = referee(&setting, opened, &mut defender, &mut game::honest(&mut challenger));
		match end {
			End::Ruled(Ruling::Fraud, Some(member)) if member as usize == mistake.0 => lost += 1,
			// Nothing is computed from the loss, and some bits are rounded away.
			End::Silent(Side::Challenger, None) => harmless += 1,
			end => panic!("seed {seed}: {end:?}, and member {} lied by {:?}", mistake.0, mistake.1),
		}
	}
	println!("{lost} lost, {harmless} mistakes without a consequence");
	assert!(lost > 2 * harmless);
}

/// Names and contents of all files below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
	let mut all = BTreeMap::new();
	for entry in std::fs::read_dir(folder).unwrap() {
		let path = entry.unwrap().path();
		let name = path.file_name().unwrap().to_str().unwrap().to_string();
		let mode = path.metadata().unwrap().permissions().mode() & 0o777;
		if path.is_dir() {
			assert_eq!(mode, 0o700);
			all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
		} else {
			assert_eq!(mode, 0o600);
			all.insert(name, std::fs::read(path).unwrap());
		}
	}
	all
}

#[test]
fn the_same_is_kept_in_whatever_order_messages_arrive_with_signatures_and_for_the_member_alone() {
	let world = World::new(2);
	let kept: Vec<_> = (0..4usize)
		.map(|order| {
			let folder = TempDir::new().unwrap();
			let mut network = keeping(&world, folder.path());
			let mut at = order;
			network.run(
				0..1,
				|step| world.tokens(step),
				|below| {
					at = at * 31 + order;
					(at >> 3) % below
				},
			);
			network.told();
			files(folder.path())
		})
		.collect();
	assert!(kept.iter().all(|one| *one == kept[0]));
	let rows = world.train.batch as usize * world.train.seq_len as usize * world.model.dim as usize * 4;
	let micros = (world.train.batch / world.micro_batch) as usize;
	for (member, &span) in world.spans.iter().enumerate() {
		let file = |name: &str| kept[0].get(&format!("{member}/interval-0000000000-0000000000/{name}"));
		for seam in given(&world.model, false, span) {
			let name = match seam {
				Seam::Rows(unit) => format!("step-0000000000-rows-{unit}"),
				Seam::Gradient(unit) => format!("step-0000000000-gradient-{unit}"),
			};
			assert_eq!(file(&name).unwrap().len(), rows + 65 * micros, "{name}");
		}
		assert_eq!(file("step-0000000000-tokens").is_some(), world.place(member).reads_tokens());
		assert!(file("record").is_some() && file("start-2").is_some());
	}

	// Each signature is its sender's, of the rows that are kept with it.
	let folder = TempDir::new().unwrap();
	let mut network = keeping(&world, folder.path());
	network.run(0..1, |step| world.tokens(step), common::network::first);
	for (member, &span) in world.spans.iter().enumerate() {
		let kept = network.members[member].keep().unwrap().kept(0).unwrap().remove(0);
		for seam in given(&world.model, false, span) {
			let sender = world.spans.iter().position(|&span| gave(&world.model, false, span).contains(&seam)).unwrap();
			for (micro, rows) in (0..).zip(kept.rows(&world.place(member), 0, seam).unwrap()) {
				let statement = neuroshard_quorum::Rows::statement(0, micro, seam, &rows.tiles(world.model.dim as usize));
				assert!(Stamp(0).has_signed(sender, statement, &rows.signature));
			}
		}
		for (sender, sums) in kept.sums(0).unwrap().into_iter().enumerate() {
			let statement = neuroshard_quorum::Sums::statement(0, &sums.squares, sums.loss);
			assert!(Stamp(0).has_signed(sender, statement, &sums.signature));
		}
	}
}

#[test]
fn attempts_that_ended_are_kept_until_they_are_forgotten_and_others_until_the_next_one() {
	let (world, folder) = (World::new(3), TempDir::new().unwrap());
	let steps = world.intervals().next().unwrap();
	let run = |network: &mut Network| network.run(steps.clone(), |step| world.tokens(step), common::network::first);
	let keep = || Keep::new(folder.path().join("0")).unwrap();
	// Twice to the end but for the records, then twice with them.
	for _ in 0..2 {
		run(&mut keeping(&world, folder.path()));
		let kept = keep().kept(0).unwrap();
		assert_eq!(kept.iter().map(|kept| kept.has_ended()).collect::<Vec<_>>(), [false]);
		assert!(kept[0].record().is_err());
	}
	for ended in 1..=2 {
		let mut network = keeping(&world, folder.path());
		run(&mut network);
		network.told();
		assert_eq!(keep().kept(0).unwrap().iter().filter(|kept| kept.has_ended()).count(), ended);
	}
	assert_eq!(keep().intervals().unwrap(), [0]);
	(0..world.spans.len()).for_each(|member| Keep::new(folder.path().join(member.to_string())).unwrap().forget(0).unwrap());
	assert!(keep().intervals().unwrap().is_empty() && files(&folder.path().join("0")).is_empty());
	// Who cannot forget does not fill the disk: there are at most so many attempts.
	for _ in 0..8 {
		let mut network = keeping(&world, folder.path());
		run(&mut network);
		network.told();
	}
	let mut network = keeping(&world, folder.path());
	let refused = network.members[0].begin(0, &world.tokens(0)).unwrap_err();
	assert!(refused.to_string().starts_with("8 attempts at the interval from inner step 0 on"), "{refused}");
}

#[test]
fn a_file_that_is_cut_off_is_an_error_and_no_defence() {
	let (world, folder) = (World::new(4), TempDir::new().unwrap());
	worked(&world, folder.path());
	let place = world.place(0);
	let kept = || Keep::new(folder.path().join("0")).unwrap().kept(0).unwrap().remove(0);
	let below = folder.path().join("0/interval-0000000000-0000000000");
	assert!(kept().given(&place, 0).is_ok() && kept().start(&place).is_ok());
	for (name, is_lost) in [
		("start-1", &(|| kept().start(&place).is_err()) as &dyn Fn() -> bool),
		("step-0000000000-sums", &|| kept().given(&place, 0).is_err()),
		("step-0000000000-tokens", &|| kept().given(&place, 0).is_err()),
		("record", &|| kept().story(world.exec.clone(), &place, None).is_err()),
	] {
		let path = below.join(name);
		let bytes = std::fs::read(&path).unwrap();
		std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
		assert!(is_lost(), "{name}");
		std::fs::write(&path, bytes).unwrap();
		assert!(!is_lost(), "{name}");
	}
}

#[test]
fn the_base_of_an_adapter_is_the_members_to_bring_and_no_other_vector_is_taken_for_it() {
	for (seed, is_beside) in [(3, true), (4, false)] {
		let (world, folder) = (World::new(seed), TempDir::new().unwrap());
		worked(&world, folder.path());
		let kept = Keep::new(folder.path().join("0")).unwrap().kept(0).unwrap().remove(0);
		let story = |base| kept.story(world.exec.clone(), &world.place(0), base).map(drop);
		let expected = world.base_of(0).map_or(0, |base| base.len());
		assert_eq!((world.base.is_some(), story(world.base_of(0))), (is_beside, Ok(())));
		assert_eq!(story(Some(vec![0.0; expected + 1])), Err(DefenceError::Base { expected, found: expected + 1 }));
		assert_eq!(story(None).is_ok(), !is_beside);
	}
}
