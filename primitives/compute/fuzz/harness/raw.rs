//! Any bytes as a position and a move, played under any configuration.

use super::{config, source::Source};
use codec::{Decode, Encode};
use neuroshard_graph::{
	corpus::{Corpus, TokenWidth, Window},
	game::{Move, Position, Setting, Subject},
	merkle::Hash,
};

pub fn run(source: &mut Source) {
	let model = config::model(source);
	let train = config::train(source, &model);
	let (round, start) = (source.about(100), [source.byte(); 32]);
	let corpus = Corpus {
		root: [source.byte(); 32],
		shards: source.about(100),
		tokens_per_shard: source.about(1 << 20),
		width: TokenWidth::of(source.about(1 << 17), source.about(2) == 1),
	};
	let (shard, at) = (source.about(100), source.about(1 << 20));
	let window = move |step: u32, sequence: u32| {
		(sequence % 7 != 6).then_some(Window { shard: shard.wrapping_add(step), start: at.wrapping_add(sequence) })
	};
	let deltas: Vec<Vec<Hash>> = (0..source.below(4)).map(|_| vec![[source.byte(); 32]; source.below(129) as usize]).collect();
	let subject = match source.once_in(2) {
		false => Subject::Work { corpus, window: &window, steps: train.inner_steps, base: None, quorum: None },
		true => Subject::Checkpoint { deltas: &deltas, inner_steps: &[], claimed: [source.byte(); 32] },
	};
	let setting = Setting { model: &model, train: &train, round, start, subject };
	let Ok(position) = Position::decode(&mut source.0) else { return };
	assert_eq!(Position::decode(&mut &position.encode()[..]), Ok(position));
	let _ = (position.turn(), position.height());
	let Ok(action) = Move::decode(&mut source.0) else { return };
	assert_eq!(Move::decode(&mut &action.encode()[..]).as_ref(), Ok(&action));
	let _ = (action.volume(), action.list().len());
	let _ = position.play(&setting, &action);
}
