//! Snapshots: the files of a repository at one commit, in the cache.

use super::{
	cache::{Repository, PART},
	client::{Answer, Client},
	name::{is_commit, is_path, PATTERN},
	HubError, Kind, Name, Settings,
};
use serde::Deserialize;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::{
	collections::BTreeSet,
	fs::{self, File, Permissions},
	io::{self, Read, Seek, SeekFrom, Write},
	os::unix::fs::PermissionsExt,
	path::{Path, PathBuf},
};

/// Files of a dataset that say something about it, and are no part of it.
const ABOUT: [&str; 4] = ["README.md", "LICENSE", "dataset_infos.json", "dataset_info.json"];
/// Endings of the files that a model is read from.
const OF_MODELS: [&str; 3] = [".json", ".safetensors", ".jinja"];
/// Most bytes of a file of which nobody says how many it has. Larger files are those of which the hub does.
const MOST_UNSTATED: u64 = 64 << 20;
/// So many files are named where none is the one that was asked for.
const MOST_NAMED: usize = 20;

/// The hub, by way of the cache.
pub struct Hub {
	settings: Settings,
	client: Option<Client>,
}

/// Files of a repository at one commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
	/// The commit.
	pub commit: String,
	/// The folder of all files of that commit that are in the cache.
	pub folder: PathBuf,
	/// Those that were asked for, in the order of their names.
	pub files: Vec<PathBuf>,
	/// Whether these may be a part of them, since the hub was not asked which there are.
	pub may_lack: bool,
}

/// What the hub says of a revision.
#[derive(Deserialize)]
struct Told {
	sha: String,
	#[serde(default)]
	siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
	rfilename: String,
}

impl Hub {
	/// With these settings.
	///
	/// # Errors
	/// [`HubError::Away`] if the system has no certificates that could be trusted.
	pub fn new(settings: Settings) -> Result<Self, HubError> {
		let client = if settings.is_offline { None } else { Some(Client::new(&settings)?) };
		Ok(Self { settings, client })
	}

	/// The files that `name` asks for: those of its path, or without one all of a dataset but what is hidden or says something about it, or what a model is
	/// read from. Those that are not in the cache are fetched, one after another; before each, `tell` gets its name.
	///
	/// # Errors
	/// [`HubError`].
	pub async fn snapshot(&self, name: &Name, tell: &mut (dyn FnMut(&str) + Send)) -> Result<Snapshot, HubError> {
		let repository = Repository::new(&self.settings.cache, name);
		let (commit, all) = match &self.client {
			Some(client) => listed(client, name).await?,
			None => {
				let commit = repository.commit(name.revision()).ok_or_else(|| self.not_cached(name.to_string()))?;
				let files = repository.files(&commit)?;
				(commit, files)
			}
		};
		if self.client.is_none() && all.is_empty() {
			return Err(self.not_cached(name.to_string()));
		}
		let wanted: Vec<&String> = all.iter().filter(|file| is_wanted(name, file)).collect();
		let may_lack = self.client.is_none() && !wanted.iter().all(|file| name.path() == Some(file));
		if wanted.is_empty() {
			let some = all.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
			let more = if all.len() > MOST_NAMED { ", .." } else { "" };
			return Err(HubError::Nothing { name: name.to_string(), files: format!("{some}{more}") });
		}
		if self.client.is_some() {
			repository.remove_remains();
		}
		let mut files = Vec::new();
		for file in wanted {
			let found = match (repository.file(&commit, file)?, &self.client) {
				(None, Some(client)) => {
					tell(file);
					fetch(client, &repository, name, (&commit, file)).await?;
					repository.file(&commit, file)?
				}
				(found, _) => found,
			};
			files.push(found.ok_or_else(|| self.not_cached(format!("{file} of {name}")))?);
		}
		if self.client.is_some() {
			repository.set_commit(name.revision(), &commit)?;
		}
		Ok(Snapshot { folder: repository.snapshot(&commit), commit, files, may_lack })
	}

	fn not_cached(&self, what: String) -> HubError {
		HubError::NotCached { what, cache: self.settings.cache.clone() }
	}
}

/// Returns whether `name` asks for the file with this name.
fn is_wanted(name: &Name, file: &str) -> bool {
	let is_hidden = file.split('/').any(|part| part.starts_with('.'));
	match (name.path(), name.kind) {
		(Some(path), _) if path.contains(PATTERN) => {
			let options = glob::MatchOptions { require_literal_leading_dot: true, require_literal_separator: true, ..Default::default() };
			glob::Pattern::new(path).is_ok_and(|pattern| pattern.matches_with(file, options))
		}
		(Some(path), _) => file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && !is_hidden)),
		(None, Kind::Dataset) => !is_hidden && !ABOUT.contains(&file),
		(None, Kind::Model) => !is_hidden && !file.contains('/') && OF_MODELS.iter().any(|ending| file.ends_with(ending)),
	}
}

/// Path of a repository at the hub.
fn place(name: &Name) -> String {
	let kind = if name.kind == Kind::Dataset { "/datasets" } else { "" };
	format!("{kind}/{}", name.repository())
}

/// The commit that a name's revision is, and the names of its files.
async fn listed(client: &Client, name: &Name) -> Result<(String, Vec<String>), HubError> {
	let kind = if name.kind == Kind::Dataset { "datasets" } else { "models" };
	let answer =
		client.get(&format!("/api/{kind}/{}/revision/{}", name.repository(), encoded(name.revision()).replace('/', "%2F"))).await?;
	let url = answer.refused(String::new());
	let refused = |reason: String| match url {
		HubError::Answer { url, .. } => HubError::Answer { url, reason },
		other => other,
	};
	let told: Result<Told, _> = serde_json::from_slice(&answer.whole().await?);
	let told = match told {
		Ok(told) => told,
		Err(error) => return Err(refused(format!("this is no list of files: {error}"))),
	};
	if !is_commit(&told.sha) {
		return Err(refused("the hub names no commit".into()));
	}
	let files: BTreeSet<String> = told.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
	match files.iter().find(|file| !is_path(file)) {
		Some(file) => Err(refused(format!("the hub lists {file:?}, which is no place in a folder"))),
		None => Ok((told.sha, files.into_iter().collect())),
	}
}

/// Fetches a file of a commit into the cache.
async fn fetch(client: &Client, repository: &Repository, name: &Name, (commit, file): (&str, &str)) -> Result<(), HubError> {
	let answer = client.get(&format!("{}/resolve/{commit}/{}", place(name), encoded(file))).await?;
	let tag = answer.tag()?;
	let blobs = repository.blobs();
	fs::create_dir_all(&blobs).map_err(|error| HubError::io(&blobs, error))?;
	let blob = blobs.join(&tag);
	let is_there = fs::symlink_metadata(&blob).is_ok_and(|kind| kind.is_file());
	if !is_there {
		save(answer, &blobs, &blob, &tag).await?;
	}
	let snapshot = repository.snapshot(commit);
	fs::create_dir_all(&snapshot).map_err(|error| HubError::io(&snapshot, error))?;
	repository.link(commit, file, &tag)
}

/// Writes an answer to a file, which appears when it is complete.
async fn save(mut answer: Answer, blobs: &Path, blob: &Path, tag: &str) -> Result<(), HubError> {
	let failed = |error| HubError::io(blob, error);
	// As far as the user's mask says, unlike temporary files otherwise.
	let builder = tempfile::Builder::new().prefix(PART).permissions(Permissions::from_mode(0o666)).tempfile_in(blobs);
	let mut part = builder.map_err(failed)?;
	let (mut hasher, mut bytes) = (Sha256::new(), 0u64);
	let most = answer.bytes().unwrap_or(MOST_UNSTATED);
	while let Some(data) = answer.part().await? {
		bytes = bytes.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
		if bytes > most {
			break;
		}
		hasher.update(&data);
		part.write_all(&data).map_err(failed)?;
	}
	if let Some(expected) = answer.bytes().filter(|expected| *expected != bytes) {
		return Err(answer.refused(format!("it has other bytes than the hub says, {expected}: try again")));
	}
	if bytes > most {
		return Err(answer.refused(format!("it has more than {most} bytes, and nobody says how many")));
	}
	// Large files are tagged by their SHA-256, and others by the hash that Git gives them.
	let (kind, digest) = match tag.len() {
		64 => ("SHA-256", hex::encode(hasher.finalize())),
		40 => ("Git's hash", git_hash(part.as_file_mut(), bytes).map_err(failed)?),
		_ => ("", tag.to_owned()),
	};
	if tag.bytes().all(|byte| byte.is_ascii_hexdigit()) && tag != digest {
		return Err(answer.refused(format!("it has {kind} {digest}, and the hub says {tag}: try again")));
	}
	part.as_file().sync_all().map_err(failed)?;
	part.persist(blob).map_err(|error| failed(error.error)).map(|_| ())
}

/// The hash that Git gives a file of so many bytes.
fn git_hash(file: &mut File, bytes: u64) -> io::Result<String> {
	let mut hasher = Sha1::new();
	hasher.update(format!("blob {bytes}\0"));
	let mut buffer = vec![0; 1 << 16];
	file.seek(SeekFrom::Start(0))?;
	loop {
		match file.read(&mut buffer)? {
			0 => return Ok(hex::encode(hasher.finalize())),
			read => hasher.update(buffer.get(..read).unwrap_or_default()),
		}
	}
}

/// A path as it is written in an address.
fn encoded(path: &str) -> String {
	let mut text = String::new();
	for byte in path.bytes() {
		match byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
			true => text.push(char::from(byte)),
			false => text.push_str(&format!("%{byte:02X}")),
		}
	}
	text
}
