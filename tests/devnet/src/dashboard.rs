//! Live progress for people: a block that refreshes on a terminal, lines elsewhere.

use neuroshard_chain_client::Neuro;
use neuroshard_e2e::{Training, View};
use neuroshard_roles::status::Status;
use std::{
	fmt::Write as _,
	io::{IsTerminal, Write},
	time::Instant,
};

/// Losses that are shown, newest last.
const LOSSES_SHOWN: usize = 6;

/// Progress of one network.
pub struct Dashboard {
	started: Instant,
	terminal: bool,
	/// Lines of the block on the terminal.
	drawn: usize,
	/// What the newest plain line was about.
	told: String,
}

impl Dashboard {
	/// A dashboard on standard output that counts time from `started` on.
	pub fn new(started: Instant) -> Self {
		Self { started, terminal: std::io::stdout().is_terminal(), drawn: 0, told: String::new() }
	}

	/// Writes a line that stays.
	pub fn say(&mut self, text: &str) {
		let seconds = self.started.elapsed().as_secs();
		self.erase();
		print(&format!("[{:>2}:{:02}] {text}\n", seconds / 60, seconds % 60));
	}

	/// Shows what the network does.
	pub fn show(&mut self, training: &Training, view: &View) {
		let ((what, stage), facts) = (stage(view), facts(training, view));
		if self.terminal {
			let seconds = self.started.elapsed().as_secs();
			let block = format!("  time       {}:{:02}\n  {what:<11}{stage}\n{}", seconds / 60, seconds % 60, facts.block());
			self.erase();
			print(&block);
			self.drawn = block.lines().count();
		} else if self.told != stage {
			self.say(&format!("{what} {stage}; {}", facts.line()));
			self.told = stage;
		}
	}

	fn erase(&mut self) {
		let lines = std::mem::take(&mut self.drawn);
		if lines > 0 {
			// Up so many lines, then clear to the end of the screen.
			print(&format!("\x1b[{lines}A\x1b[J"));
		}
	}
}

/// Progress is not worth failing for when nobody reads it any more.
fn print(text: &str) {
	let mut out = std::io::stdout().lock();
	let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What is under way, and how far it is. Rounds have the chain's numbers, from 0.
fn stage(view: &View) -> (&'static str, String) {
	let done = view.run.rounds_adopted;
	let Some(round) = &view.round else { return ("run", format!("over after {done} rounds")) };
	let of = view.run.config.rounds.map(|rounds| format!(" of {rounds}")).unwrap_or_default();
	let attempt = if round.attempt > 0 { format!(" (attempt {})", round.attempt) } else { String::new() };
	let participants = round.participants.len();
	("round", format!("{}{attempt}, {:?} with {participants} workers, {done}{of} done", round.round, round.phase))
}

/// The numbers under the stage.
struct Facts {
	loss: String,
	steps: String,
	speed: String,
	bytes: String,
	earned: String,
	blocks: String,
}

impl Facts {
	fn block(&self) -> String {
		let Self { loss, steps, speed, bytes, earned, blocks } = self;
		format!("  loss       {loss}\n  steps      {steps}\n  speed      {speed}\n  exchanged  {bytes}\n  earned     {earned}\n  chain      {blocks}\n")
	}

	fn line(&self) -> String {
		let Self { loss, speed, bytes, earned, blocks, .. } = self;
		format!("loss {loss}; {speed}; exchanged {bytes}; earned {earned}; {blocks}")
	}
}

fn facts(training: &Training, view: &View) -> Facts {
	let workers = || view.workers.iter().flatten();
	let mut losses: Vec<f32> = std::iter::once(training.first_loss).collect();
	losses.extend(view.records.iter().map(|record| record.validation_loss.get()));
	let shown = losses.get(losses.len().saturating_sub(LOSSES_SHOWN)..).unwrap_or_default();
	let mut loss = shown.iter().map(|loss| format!("{loss:.3}")).collect::<Vec<_>>().join(" > ");
	let _ = write!(loss, " (unigram entropy {:.3})", training.unigram_entropy);
	let steps = workers().map(|status| status.step.map_or("-".into(), |(done, of)| format!("{done}/{of}"))).collect::<Vec<String>>();
	let training_speed = workers().filter_map(|status| status.tokens_per_second).fold(0.0, |total, speed| total + speed);
	let bytes: u64 = workers().map(|status| status.bytes_in).sum();
	let earned = workers().map(earned).fold(0, u128::saturating_add);
	Facts {
		loss,
		steps: steps.join("  "),
		speed: format!("{:.0} tokens/s ({training_speed:.0} while training)", view.tokens_per_second),
		bytes: format!("{:.1} MiB", mebibytes(bytes)),
		earned: Neuro(earned).to_string(),
		blocks: format!("block {}, finalized {}", view.heads.best.number, view.heads.finalized.number),
	}
}

fn earned(status: &Status) -> u128 {
	status.earned.parse().unwrap_or_default()
}

/// Good to six digits, which is more than is shown.
fn mebibytes(bytes: u64) -> f64 {
	bytes as f64 / f64::from(1u32 << 20)
}
