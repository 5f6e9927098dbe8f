//! Headers of safetensors files, and the index of several. Time and memory are bounded before anything is parsed.

use super::{Opened, ParametersError};
use crate::files::{refuse_other, BEGINNING};
use neuroshard_support::json_file;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::{
	de::{Error, IgnoredAny, MapAccess, Visitor},
	Deserialize, Deserializer,
};
use std::{collections::HashSet, fmt, marker::PhantomData, os::unix::fs::FileExt};

/// Bytes before the header, which are its length.
const LENGTH_BYTES: u64 = 8;
/// Bytes of the longest header, and of the longest index. Those of models that are served have less than one MiB.
pub(super) const LONGEST: u64 = 16 << 20;
/// Most entries of one of them.
const MOST_ENTRIES: usize = 1 << 16;
/// The entry that is no tensor.
const METADATA: &str = "__metadata__";

/// The entries of a JSON object by their names, no two alike.
#[derive(Debug)]
pub(super) struct Entries<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
	fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
		deserializer.deserialize_map(Reader(PhantomData))
	}
}

struct Reader<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
	type Value = Entries<V>;

	fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
		formatter.write_str("an object with a name for each tensor")
	}

	fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
		let (mut entries, mut names) = (Vec::new(), HashSet::new());
		while let Some(name) = map.next_key::<String>()? {
			if names.len() >= MOST_ENTRIES {
				return Err(A::Error::custom(format!("it has more than {MOST_ENTRIES} entries")));
			}
			if !names.insert(name.clone()) {
				return Err(A::Error::custom(format!("it names {name:?} twice")));
			}
			match name.as_str() {
				METADATA => _ = map.next_value::<IgnoredAny>()?,
				_ => entries.push((name, map.next_value()?)),
			}
		}
		Ok(Entries(entries))
	}
}

/// Content of a safetensors file: the tensors, and the place where their bytes begin.
pub(super) struct Header {
	tensors: Metadata,
	start: u64,
}

impl Header {
	/// The header of a file whose tensors follow one another without holes and fill it.
	///
	/// # Errors
	/// [`ParametersError`].
	pub(super) fn read(file: &Opened) -> Result<Self, ParametersError> {
		let beginning = file.read(0, usize::try_from(file.length).unwrap_or(usize::MAX).min(BEGINNING))?;
		let broken = |what: String| ParametersError::Broken { path: file.path.clone(), what };
		let length = beginning.first_chunk().map(|length| u64::from_le_bytes(*length));
		let start = length.and_then(|length| length.checked_add(LENGTH_BYTES));
		let fits = start.filter(|start| *start <= file.length && beginning.get(8) == Some(&b'{'));
		let (Some(length), Some(start)) = (length, fits) else {
			// Only such a file is looked at: a length can look like anything.
			refuse_other(&file.path, &beginning)?;
			return Err(broken(match length {
				Some(length) if length.saturating_add(LENGTH_BYTES) > file.length => {
					format!("its header would have {length} bytes, and the file has {}", file.length)
				}
				_ => "it does not begin with a header".into(),
			}));
		};
		if length > LONGEST {
			return Err(broken(format!("its header has {length} bytes, and {LONGEST} at most are read")));
		}
		let mut header = vec![0; usize::try_from(length).unwrap_or_default()];
		file.file.read_exact_at(&mut header, LENGTH_BYTES).map_err(|error| file.failed(error))?;
		let Entries(mut tensors): Entries<TensorInfo> =
			json_file::parse(&header).map_err(|reason| ParametersError::Json { path: file.path.clone(), reason })?;
		tensors.sort_by_key(|(_, told)| told.data_offsets);
		let tensors = Metadata::new(None, tensors).map_err(|error| broken(error.to_string()))?;
		let end = u64::try_from(tensors.data_len()).ok().and_then(|bytes| start.checked_add(bytes));
		match end {
			Some(end) if end == file.length => Ok(Self { tensors, start }),
			Some(end) if end < file.length => Err(broken(format!("{} bytes follow its tensors", file.length.saturating_sub(end)))),
			_ => Err(broken(format!("the file has {} bytes, and ends before its tensors do", file.length))),
		}
	}

	/// The names of its tensors, in the order of their bytes.
	pub(super) fn names(&self) -> Vec<String> {
		self.tensors.offset_keys()
	}

	/// A tensor, and the byte of the file that it begins at.
	pub(super) fn tensor(&self, name: &str) -> Option<(&TensorInfo, u64)> {
		let told = self.tensors.info(name)?;
		Some((told, u64::try_from(told.data_offsets.0).ok().and_then(|first| self.start.checked_add(first))?))
	}
}
