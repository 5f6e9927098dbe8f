//! The holder's process: it takes streams of drivers, and holds for each what that asks for.

use super::{
	accounts::{drivers::Drivers, member::Tasks},
	answering::answer,
	loaded::Loaded,
	message::Profile,
};
use neuroshard_compute::exec::{Decoding, DeviceError};
use neuroshard_graph::Class;
use neuroshard_inference::Source;
use neuroshard_kernels::shape::Start;
use neuroshard_network::Incoming;
use neuroshard_types::{
	announcement::{Checkpoints, HeldSpans, Holdings, MachineSpeed, MAX_FLOPS, MAX_MEMORY_RATE},
	provider::Addresses,
	AccountId,
};
use std::{
	borrow::BorrowMut,
	time::{Duration, Instant},
};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Drivers at a time.
const DRIVERS: usize = 16;
/// Side of the matrix that speed is measured with: it outgrows most caches.
const SIDE: usize = 2_048;
/// Rows of a product that is bound by operations.
const ROWS: usize = 64;
/// Time for which each speed is measured.
const MEASURED: Duration = Duration::from_millis(300);

/// Models of which parts can be held, the newest one first.
pub type Sources = watch::Receiver<Vec<Source>>;

/// Resources that a machine lends.
#[derive(Clone, Debug)]
pub struct Lent(Profile);

impl Lent {
	/// Measures this machine, which lends `memory` bytes to hold parts of `source`.
	///
	/// # Errors
	/// [`DeviceError`] of the device that computes.
	pub fn measured<B: Decoding>(source: &Source, backend: &B, memory: u64) -> Result<Self, DeviceError> {
		let weights: Vec<f32> = (0..SIDE * SIDE).map(|index| (index % 61) as f32 / 61.0 - 0.5).collect();
		let weight = backend.weight(Class::ExactF32, SIDE, SIDE, &weights)?;
		let mut arena = backend.memory(2 * ROWS * SIDE)?;
		let arena = arena.borrow_mut();
		backend.fill(arena, 0..ROWS * SIDE, 0.5);
		let mut fastest = |rows: usize| {
			let (at, out, mut quantized) = (0..rows * SIDE, ROWS * SIDE..(ROWS + rows) * SIDE, B::Rows::default());
			let (began, mut fastest) = (Instant::now(), f64::INFINITY);
			while began.elapsed() < MEASURED {
				let begin = Instant::now();
				backend.multiply(arena, (at.clone(), SIDE), &[(&weight, out.clone())], &mut quantized, Start::Zero);
				backend.settled()?;
				fastest = fastest.min(begin.elapsed().as_secs_f64());
			}
			Ok::<_, DeviceError>(fastest)
		};
		let matrix = (SIDE * SIDE) as f64;
		// Rates of machines are far below 2^53.
		let bandwidth = (matrix * size_of::<f32>() as f64 / fastest(1)?) as u64;
		let flops = (2.0 * ROWS as f64 * matrix / fastest(ROWS)?) as u64;
		Ok(Self(Profile { parameters: source.parameters, memory, bandwidth: bandwidth.max(1), flops: flops.max(1), account: None }))
	}

	/// What is announced of them: at these addresses, with parts of these models to be held, and what is in `loaded`.
	pub fn holdings(&self, addresses: Addresses, sources: &[Source], loaded: &Loaded) -> Holdings {
		let (held, used) = loaded.all();
		Holdings {
			addresses,
			speed: MachineSpeed { flops: self.0.flops.clamp(1, MAX_FLOPS), bytes: self.0.bandwidth.clamp(1, MAX_MEMORY_RATE) },
			memory: self.0.memory.saturating_sub(used),
			held: HeldSpans::truncate_from(held),
			checkpoints: Checkpoints::truncate_from(sources.iter().map(|source| source.parameters).collect()),
			ways: Default::default(),
		}
	}

	/// The same, for an account of the chain, which can be on offers of drivers.
	#[must_use]
	pub fn of(mut self, account: AccountId) -> Self {
		self.0.account = Some(account);
		self
	}
}

/// Answers drivers until `stop` is cancelled. Nobody but `drivers` is answered. With `tasks`, what is held for drivers that offer it is noted there;
/// what is held for anybody, in `loaded`.
pub async fn lend(
	mut incoming: Incoming,
	sources: Sources,
	lent: Lent,
	mut drivers: Drivers,
	(tasks, loaded): (Option<Tasks>, Loaded),
	stop: CancellationToken,
) {
	let mut answering = JoinSet::new();
	loop {
		tokio::select! {
			() = stop.cancelled() => break,
			Some(ended) = answering.join_next(), if !answering.is_empty() => drop(ended),
			next = incoming.next() => {
				let Some((peer, stream)) = next else { break };
				// The chain may be asked, which takes as long as it takes.
				let Some(refusal) = stop.run_until_cancelled(drivers.refusal(&peer)).await else { break };
				if let Some(words) = refusal {
					tracing::warn!("{words}; it is not answered");
					continue;
				}
				if answering.len() >= DRIVERS {
					tracing::warn!("{DRIVERS} drivers are answered already; {peer} is not");
					continue;
				}
				let (sources, profile) = (sources.clone(), lent.0.clone());
				let (tasks, loaded) = (tasks.clone().map(|tasks| (tasks, peer)), loaded.clone());
				answering.spawn(async move {
					if let Err(error) = answer(stream, sources, profile, tasks, loaded).await {
						tracing::info!("the stream of {peer} has ended: {error}");
					}
				});
			}
		}
	}
	answering.shutdown().await;
}
