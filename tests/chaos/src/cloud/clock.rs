//! A machine's clock, which can be set wrong.

use neuroshard_e2e::{Error, Process};
use std::{
	fs::File,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
};

/// Where `neuroshard-clock` finds the path of the file.
const VARIABLE: &str = "NEUROSHARD_CLOCK";

/// The time of day of the processes on one machine: right, or wrong by so many seconds that a file has, which they read whenever they look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clock {
	file: PathBuf,
	library: PathBuf,
}

impl Clock {
	/// Makes the file `file` of a clock that is right, for processes that load `library`: that of `neuroshard-clock`.
	///
	/// # Errors
	/// [`Error::File`].
	pub(super) fn create(file: PathBuf, library: &Path) -> Result<Self, Error> {
		std::fs::write(&file, 0i64.to_le_bytes()).map_err(Error::file(&file))?;
		Ok(Self { file, library: library.to_path_buf() })
	}

	/// Sets it wrong by so many seconds, in either direction, while `process` runs, which goes by it. With 0 it is right.
	///
	/// # Errors
	/// [`Error::File`]; [`Error::Setup`] if the process has not loaded the library.
	pub(crate) fn set_wrong(&self, seconds: i64, process: &Process) -> Result<(), Error> {
		let maps = PathBuf::from(format!("/proc/{}/maps", process.id()));
		// The loader only warns of what it cannot load.
		if !std::fs::read_to_string(&maps).map_err(Error::file(&maps))?.contains(&*self.library.to_string_lossy()) {
			return Err(Error::Setup(format!("{} is not loaded: its path may have no space and no colon", self.library.display())));
		}
		let write = || File::options().write(true).open(&self.file)?.write_all_at(&seconds.to_le_bytes(), 0);
		write().map_err(Error::file(&self.file))
	}

	/// Variables of the environment by which a process goes by it.
	pub(super) fn variables(&self) -> [(&'static str, PathBuf); 2] {
		[("LD_PRELOAD", self.library.clone()), (VARIABLE, self.file.clone())]
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_e2e::{until, Binaries};
	use std::{
		io::Write,
		process::Command,
		time::{Duration, Instant, SystemTime, UNIX_EPOCH},
	};

	/// Writes both times whenever a line has come.
	const TELL: &str = "import sys, time\nfor line in sys.stdin: print(time.time(), time.monotonic(), flush=True)";

	#[tokio::test]
	async fn a_running_process_is_told_a_time_of_day_that_is_wrong_by_as_much_as_is_set_and_no_other_wrong_time() {
		let folder = tempfile::tempdir().unwrap();
		let clock =
			Clock::create(folder.path().join("clock"), &Binaries::find().unwrap().other("libneuroshard_clock.so").unwrap()).unwrap();
		let (lines, log) = (folder.path().join("lines"), folder.path().join("log"));
		std::fs::write(&lines, "").unwrap();
		let mut command = Command::new("sh");
		command.args(["-c", "tail -f \"$1\" | python3 -c \"$2\"", "sh"]).arg(&lines).arg(TELL).envs(clock.variables());
		let process = Process::start("python", command, &log).unwrap();
		let told = async |count: usize| {
			until("the times", Duration::from_secs(60), async || {
				let text = std::fs::read_to_string(&log).unwrap_or_default();
				let times = text.lines().nth(count - 1).filter(|_| text.lines().count() == count && text.ends_with('\n'));
				Ok(times.map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect::<Vec<f64>>()))
			})
			.await
			.unwrap()
		};
		let mut first: Option<(f64, Instant)> = None;
		for (count, wrong) in [(1, 0), (2, 300), (3, -300), (4, 0)] {
			// By the first one, the library is loaded.
			if count > 1 {
				clock.set_wrong(wrong, &process).unwrap();
			}
			let begun = (SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64(), Instant::now());
			File::options().append(true).open(&lines).unwrap().write_all(b"now\n").unwrap();
			let [of_day, measured] = told(count).await.try_into().unwrap();
			let took = begun.1.elapsed().as_secs_f64();
			let error = of_day - begun.0 - wrong as f64;
			assert!((0.0..=took).contains(&error), "{wrong} {error} {took}");
			let (before, since) = *first.get_or_insert((measured, begun.1));
			assert!(measured - before <= since.elapsed().as_secs_f64(), "{before} {measured}");
		}
	}
}
