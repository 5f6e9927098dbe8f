//! The thread that writes the log, and the one that settles old logs beside it.

use super::{
	frames::frame,
	locked,
	recover::{path, settle},
	Entry, LogError, Pace, Places, Record, Unsettled,
};
use neuroshard_disputes::answers::TranscriptStoreError;
use std::{
	fs::{File, OpenOptions},
	io::{self, Write},
	os::unix::fs::OpenOptionsExt,
	path::PathBuf,
	sync::{
		mpsc::{Receiver, RecvTimeoutError},
		Arc, Mutex,
	},
	thread::JoinHandle,
	time::Duration,
};

/// Records that are written at once, and bytes of their transcripts.
const MOST_RECORDS: usize = 1_024;
const MOST_BYTES: usize = 8 << 20;
/// Until old logs are tried again that could not be settled.
const PAUSE: Duration = Duration::from_secs(5);

/// Writes the log.
pub(super) struct Writer {
	places: Places,
	pace: Pace,
	number: u64,
	file: File,
	/// Bytes of it, all of them on disk.
	length: u64,
	/// Records that are on disk, and could not be put into their places yet.
	unplaced: Vec<Record>,
	/// Why nothing is written any more.
	broken: Option<LogError>,
	unsettled: Arc<Mutex<Unsettled>>,
	/// Logs that are not settled, and the thread that does it.
	old: Vec<PathBuf>,
	settling: Option<JoinHandle<bool>>,
}

/// Makes the file of a log, so that it is there after a crash.
fn begin(places: &Places, number: u64) -> io::Result<File> {
	let file = OpenOptions::new().create_new(true).append(true).mode(0o600).open(path(&places.folder, number))?;
	File::open(&places.folder)?.sync_all()?;
	Ok(file)
}

impl Writer {
	pub(super) fn new(places: Places, number: u64, pace: Pace, unsettled: Arc<Mutex<Unsettled>>) -> io::Result<Self> {
		let file = begin(&places, number)?;
		Ok(Self { places, pace, number, file, length: 0, unplaced: Vec::new(), broken: None, unsettled, old: Vec::new(), settling: None })
	}

	/// Writes what comes until nobody is there to send anything; then all is settled.
	pub(super) fn run(mut self, entries: &Receiver<Entry>) {
		loop {
			match entries.recv_timeout(self.pace.quiet) {
				Ok(first) => self.take(first, entries),
				Err(RecvTimeoutError::Timeout) => self.turn(1),
				Err(RecvTimeoutError::Disconnected) => return self.end(),
			}
			self.turn(self.pace.length);
		}
	}

	/// Writes an entry, and those that wait behind it.
	fn take(&mut self, first: Entry, entries: &Receiver<Entry>) {
		let size = |entry: &Entry| match &entry.record {
			Record::Answer { transcript, .. } => transcript.len(),
			Record::Paid { .. } => 0,
		};
		let (mut bytes, mut all) = (size(&first), vec![first]);
		while bytes < MOST_BYTES && all.len() < MOST_RECORDS {
			let Ok(next) = entries.try_recv() else { break };
			bytes = bytes.saturating_add(size(&next));
			all.push(next);
		}
		let written = self.write(&all);
		if written.is_ok() {
			let mut unsettled = locked(&self.unsettled);
			unsettled.new.extend(all.iter().map(|entry| (entry.record.session(), entry.after.clone())));
		}
		let mut records = Vec::with_capacity(all.len());
		for Entry { record, done, .. } in all {
			records.push((record, done));
		}
		if written.is_ok() {
			self.unplaced.extend(records.iter().map(|(record, _)| record.clone()));
			// It is on disk, so that it counts. What comes next waits for this.
			if let Err(error) = self.place() {
				tracing::error!("what belongs to answers cannot be written, and no answers are given until it can: {error}");
			}
		}
		for (_, done) in records {
			// Whoever has asked may have gone.
			let _ = done.send(written.clone());
		}
	}

	/// Puts what is on disk into its places.
	fn place(&mut self) -> Result<(), TranscriptStoreError> {
		for (done, record) in self.unplaced.iter().enumerate() {
			if let Err(error) = self.places.put(record) {
				self.unplaced.drain(..done);
				return Err(error);
			}
		}
		self.unplaced.clear();
		Ok(())
	}

	/// Has entries be on disk, all of them or none.
	fn write(&mut self, entries: &[Entry]) -> Result<(), LogError> {
		if let Some(broken) = &self.broken {
			return Err(broken.clone());
		}
		self.place().map_err(|error| LogError::File(error.into()))?;
		let failed = |source| Arc::new(TranscriptStoreError::File { path: path(&self.places.folder, self.number), source });
		let bytes = frame(entries.iter().map(|entry| &entry.record)).ok_or(LogError::Busy)?;
		if let Err(error) = self.file.write_all(&bytes) {
			// A part may be there, which must not stand before what comes next.
			let error = failed(error);
			let cut = self.file.set_len(self.length).and_then(|()| self.file.sync_all());
			if cut.is_err() {
				self.broken = Some(LogError::Broken(error.clone()));
			}
			return Err(self.broken.clone().unwrap_or(LogError::File(error)));
		}
		if let Err(error) = self.file.sync_data() {
			// The system may forget what it could not write, and say nothing the next time.
			return Err(self.broken.insert(LogError::Broken(failed(error))).clone());
		}
		self.length = self.length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
		Ok(())
	}

	/// Begins the next log, if this one has so many bytes and the one before is settled, and has this one settled beside.
	fn turn(&mut self, length: u64) {
		if self.settling.as_ref().is_some_and(|settling| !settling.is_finished()) {
			return;
		}
		self.settled();
		if self.length < length.max(1) && self.old.is_empty() || self.broken.is_some() || self.place().is_err() {
			return;
		}
		if self.length > 0 {
			let next = self.number.saturating_add(1);
			match begin(&self.places, next) {
				Ok(file) => {
					self.old.push(path(&self.places.folder, self.number));
					(self.file, self.number, self.length) = (file, next, 0);
				}
				Err(error) => return tracing::warn!("the log of accounts grows, since no next one can be made: {error}"),
			}
		}
		let (unsettled, places, logs) = (self.unsettled.clone(), self.places.clone(), self.old.clone());
		let mut all = locked(&unsettled);
		let new = std::mem::take(&mut all.new);
		all.old.extend(new);
		drop(all);
		let work = move || {
			let settled = is_settled(&places, &unsettled, &logs);
			if !settled {
				std::thread::sleep(PAUSE);
			}
			settled
		};
		self.settling = std::thread::Builder::new().name("accounts-old".into()).spawn(work).ok();
	}

	/// Notes what has become of the old logs.
	fn settled(&mut self) {
		let Some(settling) = self.settling.take() else { return };
		if settling.join().unwrap_or(false) {
			self.old.clear();
			locked(&self.unsettled).old.clear();
		}
	}

	/// Settles all.
	fn end(mut self) {
		if self.place().is_err() || self.broken.is_some() {
			return tracing::error!("accounts are not settled: they are read from their log the next time");
		}
		self.settled();
		let mut all = locked(&self.unsettled);
		let new = std::mem::take(&mut all.new);
		all.old.extend(new);
		drop(all);
		self.old.push(path(&self.places.folder, self.number));
		is_settled(&self.places, &self.unsettled, &self.old);
	}
}

/// Settles these logs, if that is possible; the accounts are still among those that are not settled.
fn is_settled(places: &Places, unsettled: &Mutex<Unsettled>, logs: &[PathBuf]) -> bool {
	let accounts = locked(unsettled).old.clone();
	let settled = settle(places, accounts.iter(), logs);
	settled.inspect_err(|error| tracing::error!("accounts cannot be written, and stay in their log: {error}")).is_ok()
}
