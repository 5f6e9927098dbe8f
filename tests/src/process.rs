//! Processes that never outlive the one that started them.

use crate::{until, Error};
use rustix::process::{getppid, kill_process_group, set_parent_process_death_signal, Pid, Signal};
use std::{
	fs::File,
	io::{Read, Seek, SeekFrom},
	os::unix::process::CommandExt,
	path::{Path, PathBuf},
	process::{Child, Command, ExitStatus, Stdio},
	sync::{mpsc, LazyLock},
	time::Duration,
};

/// Longest wait for a process that was asked to end.
const STOP_LIMIT: Duration = Duration::from_secs(15);
/// Bytes of a log that an error shows.
const TAIL: u64 = 2_000;

type Job = (Command, mpsc::Sender<std::io::Result<Child>>);

/// The thread that starts processes. The system ends a child when the *thread* that started it ends, so this one lives as long as
/// the whole process does.
static STARTER: LazyLock<mpsc::Sender<Job>> = LazyLock::new(|| {
	let (jobs, incoming) = mpsc::channel::<Job>();
	std::thread::spawn(move || {
		for (mut command, answer) in incoming {
			// Whoever asked may be gone; then the child is dropped and goes on until this process ends.
			let _ = answer.send(command.spawn());
		}
	});
	jobs
});

/// A running process with its own process group and a log file.
#[derive(Debug)]
pub struct Process {
	name: String,
	child: Child,
	log: PathBuf,
}

/// How a command that was run to its end did.
#[derive(Clone, Debug)]
pub struct Ended {
	/// Whether its exit code was 0.
	pub success: bool,
	/// What it wrote to standard output.
	pub output: String,
	/// What it wrote to standard error.
	pub error: String,
}

impl Process {
	/// Starts `command`. Its output is added to the file `log`.
	///
	/// # Errors
	/// [`Error::File`] if the log or the program cannot be used.
	pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Self, Error> {
		let file = File::options().create(true).append(true).open(log).map_err(Error::file(log))?;
		let other = file.try_clone().map_err(Error::file(log))?;
		command.stdin(Stdio::null()).stdout(file).stderr(other);
		let child = start(command)?;
		Ok(Self { name: name.to_owned(), child, log: log.to_path_buf() })
	}

	/// Process id.
	pub fn id(&self) -> u32 {
		self.child.id()
	}

	/// Most memory that the process itself, without its children, ever had in use, in bytes.
	///
	/// # Errors
	/// [`Error::File`] if the system says nothing about it, [`Error::Setup`] if it does not say this.
	pub fn peak_memory(&self) -> Result<u64, Error> {
		self.told("VmHWM:")
	}

	/// Memory that the process itself, without its children, has in use, in bytes.
	///
	/// # Errors
	/// As [`Self::peak_memory`].
	pub fn memory(&self) -> Result<u64, Error> {
		self.told("VmRSS:")
	}

	/// Memory of its own that the system lets the process take, in bytes; `None` without a limit.
	///
	/// # Errors
	/// As [`Self::peak_memory`].
	pub fn memory_limit(&self) -> Result<Option<u64>, Error> {
		let path = PathBuf::from(format!("/proc/{}/limits", self.id()));
		let limits = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
		let line = limits.lines().find_map(|line| line.strip_prefix("Max data size"));
		let soft = line.and_then(|line| line.split_whitespace().next());
		let soft = soft.ok_or_else(|| Error::Setup(format!("{} does not tell the limit of data", path.display())))?;
		Ok(soft.parse().ok())
	}

	fn told(&self, field: &str) -> Result<u64, Error> {
		let path = PathBuf::from(format!("/proc/{}/status", self.id()));
		let status = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
		bytes_of(&status, field).ok_or_else(|| Error::Setup(format!("{} does not tell {field}", path.display())))
	}

	/// Fails if the process has ended.
	///
	/// # Errors
	/// [`Error::Ended`] with the end of its log.
	pub fn check(&mut self) -> Result<(), Error> {
		match self.exit_status()? {
			None => Ok(()),
			Some(status) => Err(self.ended(status)),
		}
	}

	/// Ends the process and its children at once, as `kill -9` does.
	pub fn kill(&mut self) {
		signal(&self.child, Signal::KILL);
		// The system has nothing else to say about a child of ours.
		let _ = self.child.wait();
	}

	/// Has the process and its children do nothing until [`Self::thaw`], as SIGSTOP does.
	pub fn freeze(&self) {
		signal(&self.child, Signal::STOP);
	}

	/// Has them go on.
	pub fn thaw(&self) {
		signal(&self.child, Signal::CONT);
	}

	/// Asks the process to end, as Ctrl-C does.
	pub fn ask_to_stop(&self) {
		signal(&self.child, Signal::TERM);
	}

	/// Asks the process to end, and ends it if it does not.
	pub async fn stop(mut self) {
		self.ask_to_stop();
		let ended = until("a process to end", STOP_LIMIT, async || self.exit_status());
		if ended.await.is_err() {
			tracing::warn!("{} did not end by itself and was killed", self.name);
		}
	}

	/// Waits until the process ends by itself, whatever its exit code.
	///
	/// # Errors
	/// [`Error::Late`] if it is still there after `limit`.
	pub async fn ended_by_itself(&mut self, limit: Duration) -> Result<ExitStatus, Error> {
		let what = format!("{} to end", self.name);
		until(&what, limit, async || self.exit_status()).await
	}

	fn exit_status(&mut self) -> Result<Option<ExitStatus>, Error> {
		self.child.try_wait().map_err(Error::file(Path::new(&self.name)))
	}

	fn ended(&self, status: ExitStatus) -> Error {
		Error::Ended { name: self.name.clone(), how: status.to_string(), log: self.log.clone(), tail: tail(&self.log) }
	}
}

impl Drop for Process {
	fn drop(&mut self) {
		self.kill();
	}
}

impl Ended {
	/// Runs `command` to its end, without input.
	///
	/// # Errors
	/// [`Error::File`] if the program cannot be started. A failing command is no error here.
	pub async fn of(mut command: Command) -> Result<Self, Error> {
		command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
		let program = PathBuf::from(command.get_program());
		let child = start(command)?;
		let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await;
		let output = output.map_err(|error| Error::Setup(error.to_string()))?.map_err(Error::file(&program))?;
		let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
		Ok(Self { success: output.status.success(), output: text(&output.stdout), error: text(&output.stderr) })
	}

	/// Standard output of a command that must succeed.
	///
	/// # Errors
	/// [`Error::Command`] with what it said, and those of [`Self::of`].
	pub async fn output_of(command: Command) -> Result<String, Error> {
		let shown = format!("{command:?}");
		match Self::of(command).await? {
			Self { success: true, output, .. } => Ok(output),
			Self { output, error, .. } => Err(Error::Command { command: shown, reason: format!("{}{}", output, error.trim_end()) }),
		}
	}
}

/// Starts `command` in its own process group, bound to the life of this process.
fn start(mut command: Command) -> Result<Child, Error> {
	let program = PathBuf::from(command.get_program());
	let parent = Pid::from_raw(i32::try_from(std::process::id()).unwrap_or_default());
	command.process_group(0);
	let bind = move || {
		set_parent_process_death_signal(Some(Signal::KILL))?;
		// The parent may have ended before the line above.
		if getppid() == parent {
			Ok(())
		} else {
			Err(std::io::ErrorKind::BrokenPipe.into())
		}
	};
	// SAFETY: between fork and exec the closure makes two system calls and neither allocates nor locks.
	unsafe { command.pre_exec(bind) };
	let (answer, started) = mpsc::channel();
	let gone = || Error::Setup("the thread that starts processes is gone".into());
	STARTER.send((command, answer)).map_err(|_| gone())?;
	started.recv().map_err(|_| gone())?.map_err(Error::file(&program))
}

fn signal(child: &Child, signal: Signal) {
	let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
	// A group that is gone has nothing left to end.
	let _ = kill_process_group(group, signal);
}

/// Bytes of a field that `/proc` tells in kB.
fn bytes_of(status: &str, field: &str) -> Option<u64> {
	let line = status.lines().find_map(|line| line.strip_prefix(field))?;
	line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// The end of a log file, or nothing if it cannot be read.
fn tail(path: &Path) -> String {
	let read = || -> std::io::Result<String> {
		let mut file = File::open(path)?;
		let length = file.metadata()?.len();
		file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
		let mut bytes = Vec::new();
		file.read_to_end(&mut bytes)?;
		Ok(String::from_utf8_lossy(&bytes).into_owned())
	};
	read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
	use super::*;

	fn shell(script: &str) -> Command {
		let mut command = Command::new("sh");
		command.args(["-c", script]);
		command
	}

	#[tokio::test]
	async fn a_process_that_ends_is_noticed_with_its_last_words() {
		let folder = tempfile::tempdir().unwrap();
		let mut process = Process::start("a shell", shell("echo out of luck; exit 3"), &folder.path().join("log")).unwrap();
		process.ended_by_itself(Duration::from_secs(30)).await.unwrap();
		let error = process.check().unwrap_err().to_string();
		assert!(error.contains("a shell") && error.contains("out of luck") && error.contains('3'), "{error}");
	}

	#[tokio::test]
	async fn a_killed_process_takes_its_children_along() {
		let folder = tempfile::tempdir().unwrap();
		let log = folder.path().join("log");
		let mut process = Process::start("a shell", shell("sleep 600 & echo $!; wait"), &log).unwrap();
		let child: u32 = until("the child's number", Duration::from_secs(30), async || {
			Ok(std::fs::read_to_string(&log).unwrap_or_default().trim().parse().ok())
		})
		.await
		.unwrap();
		process.check().unwrap();
		process.kill();
		until("the child to be gone", Duration::from_secs(30), async || {
			let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
			// A zombie waits for init to collect it.
			Ok((state.is_empty() || state.contains(") Z ")).then_some(()))
		})
		.await
		.unwrap();
	}

	#[test]
	fn memory_is_read_in_bytes() {
		let status = "Name:\tnode\nVmPeak:\t  9 kB\nVmHWM:\t   21040 kB\nVmRSS:\t 7 kB\n";
		assert_eq!((bytes_of(status, "VmHWM:"), bytes_of(status, "VmRSS:")), (Some(21_544_960), Some(7_168)));
		assert_eq!(bytes_of("Name:\tnode\n", "VmHWM:"), None);
	}

	#[tokio::test]
	async fn a_failing_command_is_told_with_what_it_said() {
		assert_eq!(Ended::output_of(shell("echo fine")).await.unwrap(), "fine\n");
		let error = Ended::output_of(shell("echo no money >&2; exit 1")).await.unwrap_err();
		assert!(error.to_string().contains("no money"), "{error}");
		assert!(matches!(Ended::of(Command::new("/does/not/exist")).await, Err(Error::File { .. })));
	}
}
