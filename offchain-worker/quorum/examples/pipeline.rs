//! How fast a model trains that is cut into spans, against the same model on one machine: members are threads with one core each, linked by TCP over this
//! machine's loopback, or by links that are slowed down to a bandwidth and a delay.
//!
//! `pipeline MEMBERS DIM LAYERS BATCH TOKENS STEPS [MBIT/S MILLISECONDS]`. Prints tokens a second of one machine, of the ideal, which is one machine for each
//! member or core, whichever is fewer, that train all of the model side by side and tell each other nothing, and of the members; bytes of rows for each token
//! and hop, and the time that members wait.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "an example")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{connection, tokens, Stamp};
use neuroshard_compute::exec::{Arena, Exec, StepMemory, Trainer};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	init::theta_0,
	span::{cut, units, Held},
	ModelConfig, ParamLayout, TrainConfig,
};
use neuroshard_quorum::{
	link::{longest, read, write},
	run::room,
	work, Leader, Mail, Member, Message, Place, Role, Start, Task,
};
use std::{
	collections::BTreeMap,
	sync::Arc,
	time::{Duration, Instant},
};
use tokio::{
	runtime::Runtime,
	sync::mpsc::{channel, Receiver},
	time::{sleep_until, Instant as Moment},
};
use tokio_util::sync::CancellationToken;

/// A link's bandwidth in bytes a second, and its delay.
#[derive(Clone, Copy)]
struct Way {
	rate: f64,
	delay: Duration,
}

/// Passes messages on as a line of this bandwidth and delay would: one after the other, each later by the delay.
async fn slowed(way: Way, mut queue: Receiver<Message>, to: tokio::sync::mpsc::Sender<Message>) {
	let (line, mut arrivals) = channel::<(Moment, Message)>(1 << 10);
	tokio::spawn(async move {
		while let Some((at, message)) = arrivals.recv().await {
			sleep_until(at).await;
			if to.send(message).await.is_err() {
				return;
			}
		}
	});
	let mut free = Moment::now();
	while let Some(message) = queue.recv().await {
		let bytes = match &message {
			Message::Rows(rows) => 4 * rows.numbers.len() + 100,
			_ => 1_000,
		};
		free = free.max(Moment::now()) + Duration::from_secs_f64(bytes as f64 / way.rate);
		sleep_until(free).await;
		if line.send((free + way.delay, message)).await.is_err() {
			return;
		}
	}
}

/// Tokens a second of so many machines of one core that train side by side, each all of the model.
fn machines(count: usize, model: &ModelConfig, train: &TrainConfig, theta: &[f32]) -> f64 {
	let machine = || {
		let mut trainer = Trainer::with_memory(Arc::new(Exec::new(1).unwrap()), model, train, StepMemory::default()).unwrap();
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, theta);
		let begun = Instant::now();
		for step in 0..train.inner_steps {
			trainer.train_step(&mut arena, &tokens(train, model.vocab, step), step.into(), u64::from(step) + 1).unwrap();
		}
		(train.tokens_per_step() * u64::from(train.inner_steps)) as f64 / begun.elapsed().as_secs_f64()
	};
	std::thread::scope(|scope| {
		let threads: Vec<_> = (0..count).map(|_| scope.spawn(machine)).collect();
		threads.into_iter().map(|thread| thread.join().unwrap()).sum()
	})
}

fn main() {
	let arguments: Vec<f64> = std::env::args().skip(1).map(|argument| argument.parse().expect("a number")).collect();
	let [members, dim, layers, batch, length, steps, way @ ..] = &arguments[..] else { panic!("see the first lines of this example") };
	let whole = |value: &f64| *value as u32;
	let (members, steps) = (whole(members) as usize, whole(steps));
	let way = match way {
		[mbit, milliseconds] => Some(Way { rate: mbit * 125_000.0, delay: Duration::from_secs_f64(milliseconds / 1_000.0) }),
		_ => None,
	};
	let dim = whole(dim);
	let model = ModelConfig {
		vocab: 4_096,
		dim,
		layers: whole(layers),
		heads: dim / 64,
		kv_heads: dim / 64,
		ffn: dim * 8 / 3 / 32 * 32,
		max_seq: whole(length),
		tied: false,
		..ModelConfig::tiny()
	};
	let train =
		TrainConfig { batch: whole(batch), seq_len: whole(length), inner_steps: steps, commit_interval: steps, ..TrainConfig::tiny() };
	let theta = theta_0(&model, &ParamLayout::new(&model).unwrap(), &[5; 32]);
	let per_step = train.tokens_per_step() as f64;
	println!("{} parameters, {per_step} tokens a step, {members} members", model.parameters());

	let alone = machines(1, &model, &train, &theta);
	let cores = std::thread::available_parallelism().unwrap().get();
	let ideal = machines(members.min(cores), &model, &train, &theta);
	println!("one machine, one core: {alone:.0} tokens/s; {} of them side by side: {ideal:.0}", members.min(cores));

	// As many units for each, the end and the embedding with the first.
	let all = units(&model) as usize;
	let counts: Vec<u32> = (0..members).map(|member| ((member + 1) * all / members - member * all / members) as u32).collect();
	let spans = cut(&model, &counts).unwrap();
	let places: Vec<_> = (0..members).map(|member| Place::usual((&model, &train), spans.clone(), member, 0)).collect();
	let flying = places[0].flying;
	let runtime = Runtime::new().unwrap();
	let mut mail: Vec<_> = (0..members)
		.map(|_| {
			let (sender, inbox) = channel(1);
			(sender, inbox, BTreeMap::new())
		})
		.collect();
	for (low, high) in (0..members).flat_map(|low| (low + 1..members).map(move |high| (low, high))) {
		let ends = runtime.block_on(connection());
		ends.iter().for_each(|stream| stream.set_nodelay(true).unwrap());
		for ((own, other), stream) in [(low, high), (high, low)].into_iter().zip(ends) {
			let (reads, writes) = stream.into_split();
			let (outbox, queue) = channel(room(flying));
			let queue = match way {
				None => queue,
				Some(way) => {
					let (slow, arrives) = channel(room(flying));
					runtime.spawn(slowed(way, queue, slow));
					arrives
				}
			};
			let (sender, _, outboxes) = &mut mail[own];
			runtime.spawn(write(writes, queue, CancellationToken::new()));
			runtime.spawn(read(
				(other, longest(model.dim as usize * model.max_seq as usize)),
				reads,
				sender.clone(),
				CancellationToken::new(),
			));
			outboxes.insert(other, outbox);
		}
	}
	let threads: Vec<_> = mail
		.into_iter()
		.enumerate()
		.map(|(number, (_, inbox, outboxes))| {
			let mut mail = Mail::new(inbox, outboxes, runtime.handle().clone());
			let (place, model, train, theta) = (places[number].clone(), model.clone(), train.clone(), theta.clone());
			std::thread::spawn(move || {
				let own = Held::new(&model, None, place.spans[number]).unwrap().of(&theta);
				let layout = ParamLayout::new(&model).unwrap();
				let [params, momentum] = [&theta, &vec![0.0; layout.len()]].map(|vector| tensors_root(&layout, vector, 1));
				let start = Start::Checkpoint { root: checkpoint_root(&params, &momentum, 0, 0), momentum };
				let mut leader = Leader::new(&place, start).unwrap();
				let role = if number == 0 { Role::Leads(&mut leader) } else { Role::Follows(0) };
				let mut member = Member::new(place, Arc::new(Exec::new(1).unwrap()), Stamp(number), &own, None).unwrap();
				let mut batch = |step| Ok(tokens(&train, model.vocab, step));
				let mut task = Task { steps: 0..train.inner_steps, tokens: &mut batch, role, patience: Duration::from_secs(600) };
				let begun = Instant::now();
				work(&mut member, &mut mail, &mut task).unwrap();
				(begun.elapsed().as_secs_f64(), mail.waited().as_secs_f64())
			})
		})
		.collect();
	let times: Vec<(f64, f64)> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
	let speed = per_step * f64::from(steps) / times.iter().map(|(time, _)| *time).fold(0.0, f64::max);
	let waits: Vec<String> = times.iter().map(|(time, waited)| format!("{:.0}%", 100.0 * waited / time)).collect();
	println!(
		"{members} spans: {speed:.0} tokens/s, {:.2} times one machine's, {:.2} of the ideal; {} bytes for each token and hop, and as many back; members wait {} of the time",
		speed / alone,
		speed / ideal,
		4 * dim,
		waits.join(", "),
	);
}
