//! Files of a model, which may be anything: a download that failed, a pointer to a file that is elsewhere, another format.

use std::{
	fs::{self, File},
	io::{self, Read},
	path::{Path, PathBuf},
};

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
	/// The system says no.
	#[error("cannot read {path}: {source}", path = path.display())]
	Io {
		/// The file.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// It is not there.
	#[error("there is no {path}: {remedy}", path = path.display())]
	Missing {
		/// The file.
		path: PathBuf,
		/// Advice on what to do.
		remedy: String,
	},
	/// A folder, a pipe or a device.
	#[error("{path} is no file", path = path.display())]
	NoFile {
		/// The path.
		path: PathBuf,
	},
	/// Something else than its name says.
	#[error("{path} is {what}: {remedy}", path = path.display())]
	Other {
		/// The file.
		path: PathBuf,
		/// Kind of the file.
		what: &'static str,
		/// Advice on what to do.
		remedy: &'static str,
	},
	/// Longer than any of its kind.
	#[error("{path} has {bytes} bytes, and {most} at most are read of such a file: it is not what its name says", path = path.display())]
	TooLong {
		/// The file.
		path: PathBuf,
		/// Its length.
		bytes: u64,
		/// That it may have.
		most: u64,
	},
}

const FETCH: &str = "fetch the file itself, for example with `git lfs pull` in its folder";
const AGAIN: &str = "fetch it again";
const UNPACK: &str = "unpack it";
const SAFETENSORS: &str = "only safetensors files are read. Take those of the model, or write them with transformers: \
	AutoModelForCausalLM.from_pretrained(..).save_pretrained(..)";
/// First bytes of files that are often found in place of others.
const OTHERS: [(&[u8], &str, &str); 11] = [
	(b"version https://git-lfs", "a Git LFS pointer, which stands for a file that is elsewhere", FETCH),
	(b"version https://hawser", "a Git LFS pointer, which stands for a file that is elsewhere", FETCH),
	(b"# xet version", "a Xet pointer, which stands for a file that is elsewhere", FETCH),
	(b"GGUF", "a GGUF file", SAFETENSORS),
	(b"PK\x03\x04", "a zip archive, which is how PyTorch writes pickles", SAFETENSORS),
	(b"\x80\x02", "a pickle, which could run programs when it is read", SAFETENSORS),
	(b"\x89HDF", "an HDF5 file", SAFETENSORS),
	(b"\x1f\x8b", "compressed with gzip", UNPACK),
	(b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
	(b"<!DOCTYPE", "a web page", AGAIN),
	(b"<html", "a web page", AGAIN),
];
/// Bytes that tell what a file is.
pub(super) const BEGINNING: usize = 64;

/// Opens a file and says how many bytes it has.
///
/// # Errors
/// [`FileError`].
pub(super) fn open(path: &Path) -> Result<(File, u64), FileError> {
	let failed = |source| FileError::Io { path: path.into(), source };
	// Before it is opened: a pipe would wait for who writes to it.
	if !fs::metadata(path).map_err(failed)?.is_file() {
		return Err(FileError::NoFile { path: path.into() });
	}
	let file = File::open(path).map_err(failed)?;
	let length = file.metadata().map_err(failed)?.len();
	Ok((file, length))
}

/// All of a file that has `most` bytes at most, unless it is one of another kind.
///
/// # Errors
/// [`FileError`].
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
	let (file, bytes) = open(path)?;
	let mut read = Vec::new();
	let wanted = if bytes > most { BEGINNING.try_into().unwrap_or(most) } else { most };
	file.take(wanted).read_to_end(&mut read).map_err(|source| FileError::Io { path: path.into(), source })?;
	refuse_other(path, &read)?;
	match bytes > most {
		true => Err(FileError::TooLong { path: path.into(), bytes, most }),
		false => Ok(read),
	}
}

/// Refuses a file that begins like one of another kind.
///
/// # Errors
/// [`FileError::Other`].
pub(super) fn refuse_other(path: &Path, beginning: &[u8]) -> Result<(), FileError> {
	let is = |start: &[u8]| beginning.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start));
	let found = OTHERS.into_iter().find(|(start, ..)| is(start)).map(|(_, what, remedy)| (what, remedy));
	match found.or(beginning.is_empty().then_some(("empty", AGAIN))) {
		Some((what, remedy)) => Err(FileError::Other { path: path.into(), what, remedy }),
		None => Ok(()),
	}
}

/// Names of the files in a folder, in order; none if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
	let entries = fs::read_dir(folder).into_iter().flatten().flatten();
	let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
	names.sort();
	names
}

/// Returns the error, with advice, for a folder that lacks `path`, one of a model's files.
pub(super) fn missing(path: &Path, expected: Kind) -> FileError {
	let folder = path.parent().unwrap_or(Path::new(""));
	let names = names(folder);
	let with = |endings: &[&str]| names.iter().find(|name| endings.iter().any(|ending| name.ends_with(ending)));
	let transformers = "write it with transformers:";
	let remedy = if !folder.exists() {
		format!("there is no folder {} either", folder.display())
	} else if !folder.is_dir() {
		format!("{} is a file. Name a folder in Hugging Face layout with config.json, safetensors and tokenizer.json", folder.display())
	} else if with(&["adapter_config.json"]).is_some() {
		"the folder is one of an adapter: name that of its model, and this one with --adapter".into()
	} else if expected == Kind::Adapter {
		"the folder is not one of an adapter, as `export` and PEFT write it".into()
	} else if let (Kind::Weights | Kind::Config, Some(name)) = (expected, with(&[".gguf", ".ggml"])) {
		format!("the folder has {name}, and GGUF is not read. {SAFETENSORS}")
	} else if let (Kind::Weights, Some(name)) = (expected, with(&[".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack"])) {
		format!("the folder has {name}, and {SAFETENSORS}")
	} else if let (Kind::Weights, Some(name)) = (expected, with(&[".safetensors"])) {
		format!("the folder has {name}, which is named otherwise, and no model.safetensors.index.json that names it")
	} else if let (Kind::Config, Some(name)) = (expected, with(&["params.json"])) {
		format!("the folder has {name}, as Meta publishes models. Take the model's version in Hugging Face layout")
	} else if let (Kind::Tokenizer, Some(name)) = (expected, with(&[".model", "vocab.json", "vocab.txt", ".tiktoken", "tekken.json"])) {
		format!(
			"the folder has {name} alone. tokenizer.json is what is read; {transformers} AutoTokenizer.from_pretrained({folder:?}).save_pretrained({folder:?})"
		)
	} else if expected == Kind::Part {
		"the index of the weights names it: fetch it as well".into()
	} else {
		"the folder is not one of a whole model in Hugging Face layout: fetch what is missing".into()
	};
	FileError::Missing { path: path.into(), remedy }
}

/// Kind of a model's file that is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
	Config,
	Weights,
	/// A file that the index of the weights names.
	Part,
	Tokenizer,
	/// The configuration of an adapter.
	Adapter,
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_file_that_is_not_what_its_name_says_is_named_with_what_to_do() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("model.safetensors");
		for (bytes, words) in [
			(&b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"[..], "git lfs pull"),
			(b"GGUF\x03\0\0\0", "GGUF"),
			(b"PK\x03\x04\x14", "save_pretrained"),
			(b"\x80\x02}q", "pickle"),
			(b"<!doctype html>", "web page"),
			(b"\x1f\x8b\x08", "unpack"),
			(b"", "empty"),
		] {
			fs::write(&path, bytes).unwrap();
			let error = read(&path, 1_000).unwrap_err().to_string();
			assert!(error.contains("model.safetensors") && error.contains(words), "{error}");
		}
		fs::write(&path, [b'{'; 30]).unwrap();
		assert_eq!(read(&path, 30).unwrap().len(), 30);
		assert!(matches!(read(&path, 29), Err(FileError::TooLong { bytes: 30, most: 29, .. })));
	}

	#[test]
	fn what_is_no_file_is_not_waited_for() {
		let folder = tempfile::tempdir().unwrap();
		let pipe = folder.path().join("pipe");
		rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
		for path in [pipe.as_path(), folder.path()] {
			assert!(matches!(read(path, 9), Err(FileError::NoFile { .. })));
		}
		assert!(matches!(read(&folder.path().join("none"), 9), Err(FileError::Io { .. })));
	}

	#[test]
	fn what_is_there_instead_of_a_missing_file_says_what_to_do() {
		for (there, name, kind, words) in [
			("model-q4.gguf", "model.safetensors", Kind::Weights, "GGUF is not read"),
			("model-q4.gguf", "config.json", Kind::Config, "GGUF is not read"),
			("pytorch_model.bin", "model.safetensors", Kind::Weights, "save_pretrained"),
			("consolidated.safetensors", "model.safetensors", Kind::Weights, "named otherwise"),
			("params.json", "config.json", Kind::Config, "Meta"),
			("tokenizer.model", "tokenizer.json", Kind::Tokenizer, "AutoTokenizer"),
			("notes.txt", "tokenizer.json", Kind::Tokenizer, "fetch what is missing"),
		] {
			let folder = tempfile::tempdir().unwrap();
			fs::write(folder.path().join(there), "x").unwrap();
			let error = missing(&folder.path().join(name), kind).to_string();
			assert!(error.contains(name) && error.contains(words), "{error}");
			if !words.starts_with("fetch") {
				assert!(error.contains(there) || error.contains("Meta"), "{error}");
			}
			let nowhere = missing(&folder.path().join("none").join(name), kind).to_string();
			assert!(nowhere.contains("no folder"), "{nowhere}");
			assert!(missing(&folder.path().join(there).join(name), kind).to_string().contains("is a file"));
		}
	}
}
