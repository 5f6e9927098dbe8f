//! Texts that were handed over, on disk until their audits close: who has handed one over can refuse it later.

use neuroshard_atomic_write::write_private;
use neuroshard_disputes::answers::Handed;
use neuroshard_types::answer_audit::AnswerId;
use std::{
	collections::BTreeSet,
	ffi::OsString,
	fs, io,
	path::{Path, PathBuf},
	time::Duration,
};

/// The folder in the base folder.
const FOLDER: &str = "answer-audits";

/// The texts in a base folder.
#[derive(Clone, Debug)]
pub(super) struct Notes {
	folder: PathBuf,
}

impl Notes {
	pub(super) fn new(base: &Path) -> Self {
		Self { folder: base.join(FOLDER) }
	}

	fn name(answer: &AnswerId) -> String {
		let AnswerId { session, provider, place } = answer;
		format!("{session}-{place}-{provider}.json")
	}

	/// Keeps the text of an answer, which is safely on disk afterwards. Blocks.
	pub(super) fn keep(&self, answer: &AnswerId, handed: &Handed) -> io::Result<()> {
		fs::create_dir_all(&self.folder)?;
		write_private(&self.folder.join(Self::name(answer)), &serde_json::to_vec(handed)?)
	}

	/// The text of an answer, if it is here and can be read. Whether it is the one that was paid for is not looked at. Blocks.
	pub(super) fn read(&self, answer: &AnswerId) -> Option<Handed> {
		serde_json::from_slice(&fs::read(self.folder.join(Self::name(answer))).ok()?).ok()
	}

	/// Deletes all other texts that have not been written for so long that no audit of them is open, whatever a node says that is behind. Blocks.
	pub(super) fn keep_only<'a>(&self, answers: impl Iterator<Item = &'a AnswerId>, oldest: Duration) -> io::Result<()> {
		let kept: BTreeSet<OsString> = answers.map(|answer| Self::name(answer).into()).collect();
		let entries = match fs::read_dir(&self.folder) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
			entries => entries?,
		};
		for entry in entries {
			let entry = entry?;
			let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
			if !kept.contains(&entry.file_name()) && age > oldest {
				fs::remove_file(entry.path())?;
			}
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::answers::{answered, newest, somebody, SESSION};
	use neuroshard_types::H256;

	#[test]
	fn texts_are_there_after_a_restart_until_their_audits_close() {
		let base = tempfile::tempdir().unwrap();
		let answer = |place| AnswerId { session: SESSION, provider: somebody(), place };
		let transcript = answered(somebody(), &newest().params, 0, |_| {});
		let handed = Handed { transcript, before: H256::zero(), later: vec![H256::repeat_byte(3)] };
		Notes::new(base.path()).keep_only([].iter(), Duration::ZERO).unwrap();
		Notes::new(base.path()).keep(&answer(0), &handed).unwrap();
		Notes::new(base.path()).keep(&answer(1), &handed).unwrap();
		let notes = Notes::new(base.path());
		assert_eq!((notes.read(&answer(0)), notes.read(&answer(2))), (Some(handed.clone()), None));
		notes.keep_only([].iter(), Duration::from_secs(3_600)).unwrap();
		assert_eq!(notes.read(&answer(0)), Some(handed.clone()), "it is fresh");
		notes.keep_only([answer(1)].iter(), Duration::ZERO).unwrap();
		assert_eq!((notes.read(&answer(0)), notes.read(&answer(1))), (None, Some(handed)));
	}
}
