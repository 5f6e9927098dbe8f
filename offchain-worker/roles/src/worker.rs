//! The worker: all roles of one account, side by side.

use super::{
	answers::{self, Answers},
	auditor::Auditor,
	holder::Holder,
	participant::Participant,
	parts::{Options, Parts, Shared},
	quorum::Ways,
	samples::Samples,
	verifier::{self, Verifier},
	WorkerError,
};
use neuroshard_chain_client::keys::PonwSigner;
use neuroshard_compute::exec::Exec;
use neuroshard_support::hardware;
use neuroshard_training::engine::Device;
use tokio_util::sync::CancellationToken;

/// A worker, ready to run.
pub struct Worker {
	shared: Shared,
	options: Options,
	participant: Participant,
	signer: PonwSigner,
}

impl Worker {
	/// Opens the journal and starts the compute thread. With a journal that cannot be read it trains nothing, and defends what it claimed.
	///
	/// # Errors
	/// [`WorkerError::Journal`] for a folder of another chain or account; [`WorkerError::File`] without threads.
	pub fn new(parts: Parts, options: Options) -> Result<Self, WorkerError> {
		let (shared, keys) = Shared::new(parts, &options);
		let signer = keys.ponw.clone();
		let participant = Participant::new(shared.clone(), keys, &options)?;
		Ok(Self { shared, options, participant, signer })
	}

	/// The same worker, which holds its place in a run as the leader of a quorum: with the model in files, and inner steps that all members take together.
	#[must_use]
	pub fn leading(mut self, ways: Ways) -> Self {
		self.participant.lead(ways, self.options.threads);
		self
	}

	/// Works until `stop` is cancelled, or until it has left because its operator asked for it.
	///
	/// When training cannot go on, whatever the reason, the defence of what this account has claimed does, until nothing of it is at stake any more.
	///
	/// # Errors
	/// Why training ended: only what trying again would not help, such as [`WorkerError::UnknownRun`]; everything else is reported and tried again.
	pub async fn run(self, stop: CancellationToken) -> Result<(), WorkerError> {
		let Self { shared, options, mut participant, signer } = self;
		let Shared { base, client, submitter, content, dataset, reporter } = shared;
		let samples = Samples::open(&base);
		if options.device != Device::Cpu {
			let (pace, threads) = (samples.pace.clone(), options.threads);
			let measured = tokio::task::spawn_blocking(move || Exec::new(threads).map(|exec| hardware::measure(&exec, 0).gflops)).await;
			// Threads that cannot be had are missed where they are needed.
			if let Ok(Ok(gflops)) = measured {
				pace.note_cpu(gflops.into());
			}
		}
		let (in_files, leads) = (options.audit_in_files, participant.leads());
		let auditor = Auditor::new(base.clone(), client.clone(), submitter.clone(), reporter.clone(), samples.clone(), (in_files, leads));
		let answers = Answers::new(answers::Parts {
			base: &base,
			client: client.clone(),
			submitter: submitter.clone(),
			signer,
			content: content.clone(),
			threads: options.threads,
		});
		let verifier = Verifier::new(verifier::Parts {
			base: &base,
			client: client.clone(),
			submitter: submitter.clone(),
			content,
			dataset,
			reporter,
			threads: options.threads,
			check: options.check,
			samples,
			conduct: options.conduct,
			leads,
		});
		let holder = Holder::new(base, client, submitter, options.dataset, options.attest);
		let ending = stop.child_token();
		// Boxed as the largest futures that there are: a thread's stack is small.
		let working = Box::pin(async {
			let ended = participant.run(&stop).await;
			ending.cancel();
			ended
		});
		let verifying = Box::pin(verifier.run(ending.clone()));
		let (auditing, holding) = (Box::pin(auditor.run(ending.clone())), Box::pin(holder.run(ending.clone())));
		let answering = Box::pin(async {
			match answers {
				Ok((looking, playing)) => _ = tokio::join!(looking.run(ending.clone()), playing.run(ending.clone())),
				Err(error) => tracing::error!("answers that this account is drawn to audit are not looked at: {error}"),
			}
		});
		let (ended, (), (), (), ()) = tokio::join!(working, verifying, auditing, holding, answering);
		participant.end_asides().await;
		// Whoever is asked to stop has not failed.
		if stop.is_cancelled() {
			Ok(())
		} else {
			ended
		}
	}
}
