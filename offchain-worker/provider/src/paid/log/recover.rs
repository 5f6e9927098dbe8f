//! Recovery of logs that were not settled: after a crash, and while another process writes them.

use super::{
	super::{ledger::Ledger, owed},
	frames, Places, Record,
};
use codec::Encode;
use neuroshard_atomic_write::write_atomically;
use neuroshard_payments::Tally;
use neuroshard_types::inference::SessionId;
use std::{
	collections::{BTreeMap, HashMap},
	fs::{self, File},
	io,
	path::{Path, PathBuf},
};

/// The file of the log with this number.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
	folder.join(format!("answers-{number}.log"))
}

/// The logs in `folder`, in their order.
fn logs(folder: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
	let mut logs = BTreeMap::new();
	for entry in fs::read_dir(folder)? {
		let entry = entry?;
		let number = entry.file_name().to_str().and_then(|name| name.strip_prefix("answers-")?.strip_suffix(".log")?.parse().ok());
		logs.extend(number.map(|number: u64| (number, entry.path())));
	}
	Ok(logs)
}

/// All records of logs that follow each other.
fn records(logs: &BTreeMap<u64, PathBuf>) -> io::Result<Vec<Record>> {
	// The end of one is the beginning of the next one.
	let (mut bytes, mut begins) = (Vec::new(), Vec::new());
	for path in logs.values() {
		begins.push((bytes.len(), path));
		match fs::read(path) {
			Ok(more) => bytes.extend(more),
			// It was settled meanwhile.
			Err(error) if error.kind() == io::ErrorKind::NotFound => {}
			Err(error) => return Err(io::Error::new(error.kind(), format!("{} cannot be read: {error}", path.display()))),
		}
	}
	frames::read(&bytes).map_err(|frames::Damaged { at }| {
		let found = begins.iter().rev().find(|(begin, _)| *begin <= at).map(|(begin, path)| (at.saturating_sub(*begin), path.display()));
		let place = found.map_or_else(String::new, |(at, path)| format!("{path} is damaged at byte {at}, and goes on behind it. "));
		io::Error::other(format!(
			"{place}It says which answers were given and paid, and without one of them their sessions cannot go on, nor can it be delivered in an audit. Bring the \
			 file back from a copy. Or move all files answers-*.log of this folder away: then all that was answered since the last start is lost, or since its \
			 session was quiet for some seconds"
		))
	})
}

/// The account of a record's session: among those at hand, or from its file.
fn account<'a>(folder: &Path, accounts: &'a mut HashMap<SessionId, Ledger>, record: &Record) -> io::Result<&'a mut Ledger> {
	let session = record.session();
	Ok(match accounts.entry(session) {
		std::collections::hash_map::Entry::Occupied(there) => there.into_mut(),
		std::collections::hash_map::Entry::Vacant(place) => {
			let ledger = owed::read(folder, session).map_err(|error| owed::unread(folder, session, &error))?;
			place.insert(ledger.unwrap_or_else(|| Ledger::new(session, record.provider().clone(), Tally::default())))
		}
	})
}

/// The accounts of all sessions that logs in `folder` speak of, and nothing is changed. Another process may write them.
///
/// # Errors
/// If a file cannot be read, or is damaged.
pub(in crate::paid) fn accounts(folder: &Path) -> io::Result<HashMap<SessionId, Ledger>> {
	let (records, mut accounts) = (records(&logs(folder)?)?, HashMap::new());
	for record in &records {
		record.apply(account(folder, &mut accounts, record)?);
	}
	Ok(accounts)
}

/// Writes accounts, and deletes this log when all that is in it is in other files for certain.
pub(super) fn settle<'a>(places: &Places, accounts: impl Iterator<Item = (&'a SessionId, &'a Ledger)>, logs: &[PathBuf]) -> io::Result<()> {
	for (session, ledger) in accounts {
		write_atomically(&owed::path(&places.folder, *session), &ledger.encode())?;
	}
	places.transcript_store.sync().map_err(io::Error::other)?;
	let folder = File::open(&places.folder)?;
	rustix::fs::syncfs(&folder)?;
	logs.iter().try_for_each(|log| match fs::remove_file(log) {
		Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
		_ => Ok(()),
	})?;
	folder.sync_all()
}

/// Settles all logs that a process has left. Returns the number of the next one.
///
/// # Errors
/// If a file cannot be used, or is damaged: nothing is deleted then.
pub(in crate::paid) fn recover(places: &Places) -> io::Result<u64> {
	let found = logs(&places.folder)?;
	let (records, mut accounts) = (records(&found)?, HashMap::new());
	for record in &records {
		places.put(record).map_err(io::Error::other)?;
		record.apply(account(&places.folder, &mut accounts, record)?);
	}
	if !found.is_empty() {
		let paths: Vec<PathBuf> = found.values().cloned().collect();
		settle(places, accounts.iter(), &paths)?;
	}
	Ok(found.last_key_value().map_or(0, |(last, _)| last.saturating_add(1)))
}
