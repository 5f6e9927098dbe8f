//! Parameters in files, of which one tensor at a time is in memory.
//!
//! All of a file is read once, for the root. What is read of it later has to be the same: a file may change meanwhile.

mod header;

use super::files::{self, missing, FileError, Kind};
use blake2b_simd::Params;
use header::{Entries, LONGEST};
use neuroshard_compute::exec::{Decoding, Inference, InferenceError, Stage};
use neuroshard_graph::{
	merkle::{merkle_root, Hash},
	tiles::{self, leaf_hashes, DecodeError},
	Class, ConfigError, ModelConfig, ParamLayout, ParamTensor,
};
use neuroshard_support::json_file;
use neuroshard_training::checkpoint::{data_path, Checkpoint, CheckpointError, Header};
use neuroshard_types::H256;
use safetensors::Dtype;
use serde::Deserialize;
use std::{
	borrow::Cow,
	collections::BTreeMap,
	fs::File,
	io,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
	sync::Arc,
};

/// The weights of a model that has them in one file.
const WHOLE: &str = "model.safetensors";
/// The list of files of one that has several.
const INDEX: &str = "model.safetensors.index.json";

/// Why parameters cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ParametersError {
	/// A file cannot be read, or is another one than it should be.
	#[error(transparent)]
	File(#[from] FileError),
	/// The header of a checkpoint.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// The header of a safetensors file, or the index of several.
	#[error("{path} is not understood: {reason}", path = path.display())]
	Json {
		/// Path of the file.
		path: PathBuf,
		/// Why.
		reason: String,
	},
	/// A safetensors file that contradicts itself.
	#[error("{path} is no whole safetensors file: {what}. Fetch it again", path = path.display())]
	Broken {
		/// Path of the file.
		path: PathBuf,
		/// Error in the file.
		what: String,
	},
	/// An index that names something else than a file beside it.
	#[error("{path} names {name:?}, which is no file of its folder", path = path.display())]
	Elsewhere {
		/// Path of the index.
		path: PathBuf,
		/// Name that it has.
		name: String,
	},
	/// A tensor that the model needs.
	#[error("{path} has no tensor {tensor} of the shape that config.json says, in f32 or in 16 bits", path = path.display())]
	Tensor {
		/// The file or the index that should have it.
		path: PathBuf,
		/// Its name.
		tensor: String,
	},
	/// A tensor that nothing is computed with.
	#[error("{path} has a tensor {tensor}, which is not taken into account: only pairs of A and B for projections are", path = path.display())]
	Other {
		/// The file.
		path: PathBuf,
		/// Its name.
		tensor: String,
	},
	/// Tiles that are no encoding of the tensor.
	#[error("{path}, {tensor}: {source}", path = path.display())]
	Tiles {
		/// Path of the file.
		path: PathBuf,
		/// Name of the tensor.
		tensor: String,
		/// Error of decoding.
		source: DecodeError,
	},
	/// A weight that is infinite, or no number.
	#[error("{path}, {tensor}: a weight is infinite, or no number, so that no answer would be of use: the file is damaged, or was written by a training that diverged", path = path.display())]
	NotFinite {
		/// Path of the file.
		path: PathBuf,
		/// Name of the tensor.
		tensor: String,
	},
	/// The file has changed since its root was computed.
	#[error("{path} has changed since this command was started: start it anew", path = path.display())]
	Changed {
		/// Path of the file.
		path: PathBuf,
	},
	/// The shape of the model.
	#[error("this model is not served: {0}")]
	Config(#[from] ConfigError),
	/// The engine.
	#[error(transparent)]
	Inference(#[from] InferenceError),
}

/// Number format of a tensor in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
	/// Tiles of a checkpoint.
	Tiles,
	/// Little-endian IEEE-754 numbers, row by row.
	F32,
	/// As f32, without the lower half of the bits.
	Bf16,
	/// IEEE-754 binary16.
	F16,
}

impl Form {
	fn of(dtype: Dtype) -> Option<Self> {
		match dtype {
			Dtype::F32 => Some(Self::F32),
			Dtype::BF16 => Some(Self::Bf16),
			Dtype::F16 => Some(Self::F16),
			_ => None,
		}
	}
}

/// A file that stays open: one that takes its name later is not read.
#[derive(Debug)]
struct Opened {
	path: PathBuf,
	file: File,
	/// Bytes that it had when it was opened.
	length: u64,
}

impl Opened {
	fn open(path: PathBuf) -> Result<Arc<Self>, ParametersError> {
		let (file, length) = files::open(&path)?;
		Ok(Arc::new(Self { path, file, length }))
	}

	fn failed(&self, source: io::Error) -> ParametersError {
		FileError::Io { path: self.path.clone(), source }.into()
	}

	fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, ParametersError> {
		let mut bytes = vec![0; len];
		self.file.read_exact_at(&mut bytes, offset).map_err(|error| self.failed(error))?;
		Ok(bytes)
	}
}

/// A tensor in a file.
#[derive(Clone, Debug)]
struct Place {
	file: Arc<Opened>,
	offset: u64,
	bytes: usize,
	form: Form,
}

impl Place {
	/// Its bytes, and the hashes of their leaves.
	fn read(&self, threads: usize) -> Result<(Vec<u8>, Vec<Hash>), ParametersError> {
		let bytes = self.file.read(self.offset, self.bytes)?;
		let hashes = leaf_hashes(&bytes, threads);
		Ok((bytes, hashes))
	}

	/// The values of `tensor`, which these bytes are.
	fn decode(&self, tensor: &ParamTensor, bytes: &[u8]) -> Result<Vec<f32>, ParametersError> {
		let bits = |bytes: &[u8; 2]| u16::from_le_bytes(*bytes);
		Ok(match self.form {
			Form::F32 => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
			Form::Bf16 => bytes.as_chunks().0.iter().map(|bytes| f32::from_bits(u32::from(bits(bytes)) << 16)).collect(),
			Form::F16 => bytes.as_chunks().0.iter().map(|bytes| half(bits(bytes))).collect(),
			Form::Tiles => {
				let mut values = vec![0.0; tensor.len()];
				let wrong = |source| ParametersError::Tiles { path: self.file.path.clone(), tensor: tensor.name.clone(), source };
				tiles::decode_tensor(tensor, bytes, &mut values).map_err(wrong)?;
				values
			}
		})
	}
}

/// The f32 that is this IEEE-754 binary16.
fn half(bits: u16) -> f32 {
	let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 1023));
	let magnitude = match exponent {
		// Multiples of 2^-24.
		0 => (fraction as f32 / 16_777_216.0).to_bits(),
		31 => 0x7f80_0000 | fraction << 13,
		_ => (exponent + 112) << 23 | fraction << 13,
	};
	f32::from_bits(sign | magnitude)
}

/// Fields of `model.safetensors.index.json` that matter.
#[derive(Deserialize)]
struct Index {
	weight_map: Entries<String>,
}

/// The parameters of a model, in files.
#[derive(Clone, Debug)]
pub struct Parameters {
	/// Hash of all of them: the checkpoint's root, or Blake2-256 of the values of a folder, little-endian, in the order of [`ParamLayout`].
	pub root: H256,
	/// Place of each tensor, and the root of its leaves.
	tensors: Vec<(Place, Hash)>,
	threads: usize,
}

impl Parameters {
	/// Those of the checkpoint in `folder`, with its header; `None` if there is none.
	///
	/// # Errors
	/// [`ParametersError`], if they are not those that the header names, among others.
	pub fn of_checkpoint(folder: &Path, model: &ModelConfig, threads: usize) -> Result<Option<(Header, Self)>, ParametersError> {
		let Some(header) = Checkpoint::header(folder)? else { return Ok(None) };
		let layout = ParamLayout::new(model)?;
		let file = Opened::open(data_path(folder, &header))?;
		let (mut all, mut tensors) = (Vec::with_capacity(layout.tile_count()), Vec::with_capacity(layout.tensors().len()));
		let mut offset = 0u64;
		for tensor in layout.tensors() {
			let bytes = tiles::tile_count(tensor.rows, tensor.cols) * tiles::LEAF_BYTES;
			let place = Place { file: file.clone(), offset, bytes, form: Form::Tiles };
			let (read, hashes) = place.read(threads)?;
			place.decode(tensor, &read)?;
			tensors.push((place, merkle_root(&hashes)));
			all.extend(hashes);
			offset = offset.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
		}
		let (found, expected) = (H256(merkle_root(&all)), header.params);
		match found == expected {
			true => Ok(Some((header, Self { root: header.root(), tensors, threads }))),
			false => Err(CheckpointError::Root { part: "parameters", found, expected }.into()),
		}
	}

	/// Those in the safetensors files of a Hugging Face folder: one file, or, without it, those that the index names.
	///
	/// # Errors
	/// [`ParametersError`].
	pub fn of_folder(folder: &Path, model: &ModelConfig, threads: usize) -> Result<Self, ParametersError> {
		let layout = ParamLayout::new(model)?;
		let mut places = places_of(folder, layout.tensors())?;
		let (mut state, mut tensors) = (Params::new().hash_length(32).to_state(), Vec::with_capacity(layout.tensors().len()));
		for tensor in layout.tensors() {
			let none = || ParametersError::Tensor { path: folder.into(), tensor: tensor.name.clone() };
			let place = places.remove(&tensor.name).ok_or_else(none)?;
			let (bytes, hashes) = place.read(threads)?;
			let is_finite = match place.form {
				Form::F32 => {
					state.update(&bytes);
					bytes.as_chunks().0.iter().all(|value| f32::from_le_bytes(*value).is_finite())
				}
				_ => {
					let values = place.decode(tensor, &bytes)?;
					values.iter().for_each(|value| _ = state.update(&value.to_le_bytes()));
					values.iter().all(|value| value.is_finite())
				}
			};
			if !is_finite {
				return Err(ParametersError::NotFinite { path: place.file.path.clone(), tensor: tensor.name.clone() });
			}
			tensors.push((place, merkle_root(&hashes)));
		}
		let mut root = H256::default();
		root.0.copy_from_slice(state.finalize().as_bytes());
		Ok(Self { root, tensors, threads })
	}

	/// The values of tensor `index`, which is `tensor`.
	fn tensor(&self, index: usize, tensor: &ParamTensor) -> Result<Vec<f32>, ParametersError> {
		let (place, root) = &self.tensors[index];
		let (bytes, hashes) = place.read(self.threads)?;
		match merkle_root(&hashes) == *root {
			true => place.decode(tensor, &bytes),
			false => Err(ParametersError::Changed { path: place.file.path.clone() }),
		}
	}

	/// A part of the model, whose configuration is the one that these were opened with.
	///
	/// # Errors
	/// [`ParametersError`].
	pub fn load<B: Decoding>(
		&self,
		backend: Arc<B>,
		model: &ModelConfig,
		stage: &Stage,
		class: Class,
	) -> Result<Inference<B>, ParametersError> {
		Inference::load(backend, model, stage, class, |index, tensor| self.tensor(index, tensor).map(Cow::Owned))
	}
}

/// Tensors in the safetensors files of a Hugging Face folder.
pub(super) struct TensorFiles(BTreeMap<String, Place>);

impl TensorFiles {
	/// Finds these tensors, of these shapes.
	///
	/// # Errors
	/// [`ParametersError`], without a tensor having been read.
	pub(super) fn open(folder: &Path, tensors: &[ParamTensor]) -> Result<Self, ParametersError> {
		places_of(folder, tensors).map(Self)
	}

	/// Finds these tensors, of these shapes, in one file that has no others.
	///
	/// # Errors
	/// As for [`Self::open`], and [`ParametersError::Other`].
	pub(super) fn all_of(path: &Path, tensors: &[ParamTensor]) -> Result<Self, ParametersError> {
		let file = Opened::open(path.into())?;
		let header = header::Header::read(&file)?;
		let place = |tensor: &ParamTensor| {
			let place = place_in(&file, &header, tensor).ok_or_else(|| none_in(&file, &tensor.name))?;
			Ok((tensor.name.clone(), place))
		};
		let places: BTreeMap<String, Place> = tensors.iter().map(place).collect::<Result<_, ParametersError>>()?;
		match header.names().into_iter().find(|name| !places.contains_key(name)) {
			Some(tensor) => Err(ParametersError::Other { path: path.into(), tensor }),
			None => Ok(Self(places)),
		}
	}

	/// The values of one of them.
	///
	/// # Errors
	/// [`ParametersError`], for one that is not finite among others.
	pub(super) fn values(&self, tensor: &ParamTensor) -> Result<Vec<f32>, ParametersError> {
		let none = || ParametersError::Tensor { path: PathBuf::new(), tensor: tensor.name.clone() };
		let place = self.0.get(&tensor.name).ok_or_else(none)?;
		let values = place.decode(tensor, &place.file.read(place.offset, place.bytes)?)?;
		match values.iter().all(|value| value.is_finite()) {
			true => Ok(values),
			false => Err(ParametersError::NotFinite { path: place.file.path.clone(), tensor: tensor.name.clone() }),
		}
	}
}

/// Returns the place of each of these tensors in the files of a folder.
fn places_of(folder: &Path, tensors: &[ParamTensor]) -> Result<BTreeMap<String, Place>, ParametersError> {
	let (whole, index) = (folder.join(WHOLE), folder.join(INDEX));
	let is_there = |path: &Path| path.symlink_metadata().is_ok();
	let mut wanted: BTreeMap<String, Vec<&ParamTensor>> = BTreeMap::new();
	if is_there(&whole) {
		wanted.insert(WHOLE.into(), tensors.iter().collect());
	} else if is_there(&index) {
		let json = files::read(&index, LONGEST)?;
		let told: Index = json_file::parse(&json).map_err(|reason| ParametersError::Json { path: index.clone(), reason })?;
		let told: BTreeMap<String, String> = told.weight_map.0.into_iter().collect();
		for tensor in tensors {
			let none = || ParametersError::Tensor { path: index.clone(), tensor: tensor.name.clone() };
			let file = told.get(&tensor.name).ok_or_else(none)?;
			// An index leads nowhere else.
			if Path::new(file).file_name().is_none_or(|name| name != file.as_str()) {
				return Err(ParametersError::Elsewhere { path: index, name: file.clone() });
			}
			wanted.entry(file.clone()).or_default().push(tensor);
		}
	} else {
		return Err(missing(&whole, Kind::Weights).into());
	}
	let mut places = BTreeMap::new();
	for (file, tensors) in wanted {
		let path = folder.join(&file);
		if !is_there(&path) {
			return Err(missing(&path, Kind::Part).into());
		}
		let file = Opened::open(path)?;
		let header = header::Header::read(&file)?;
		for tensor in tensors {
			let name = &tensor.name;
			places.insert(name.clone(), place_in(&file, &header, tensor).ok_or_else(|| none_in(&file, name))?);
		}
	}
	Ok(places)
}

fn none_in(file: &Opened, tensor: &str) -> ParametersError {
	ParametersError::Tensor { path: file.path.clone(), tensor: tensor.to_owned() }
}

/// Returns the place of a tensor in a safetensors file; `None` if the file has no such tensor, or has another one of that name.
fn place_in(file: &Arc<Opened>, header: &header::Header, tensor: &ParamTensor) -> Option<Place> {
	let (told, offset) = header.tensor(&tensor.name)?;
	let fits = told.shape == [tensor.rows, tensor.cols] || (tensor.rows == 1 && told.shape == [tensor.cols]);
	let form = Form::of(told.dtype).filter(|_| fits)?;
	// The header was checked: from the first to the second there are as many bytes as the shape takes.
	let (first, end) = told.data_offsets;
	Some(Place { file: file.clone(), offset, bytes: end.saturating_sub(first), form })
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::merkle::blake2_256;
	use neuroshard_training::{export::export, presets};
	use neuroshard_types::H256;

	fn genesis() -> (ModelConfig, Checkpoint) {
		let (model, train) = presets::tiny();
		let checkpoint = Checkpoint::genesis(0, &model, &train, 1).unwrap();
		(model, checkpoint)
	}

	/// All values, as they are read.
	fn values(parameters: &Parameters, model: &ModelConfig) -> Result<Vec<f32>, ParametersError> {
		let layout = ParamLayout::new(model).unwrap();
		let tensors = layout.tensors().iter().enumerate();
		tensors.map(|(index, tensor)| parameters.tensor(index, tensor)).collect::<Result<Vec<_>, _>>().map(|values| values.concat())
	}

	#[test]
	fn a_checkpoint_is_read_tensor_by_tensor_under_its_root() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		assert!(Parameters::of_checkpoint(folder.path(), &model, 1).unwrap().is_none());
		checkpoint.save(folder.path(), &ParamLayout::new(&model).unwrap()).unwrap();
		let (header, parameters) = Parameters::of_checkpoint(folder.path(), &model, 2).unwrap().unwrap();
		assert_eq!((header, parameters.root), (checkpoint.header, checkpoint.header.root()));
		assert_eq!(values(&parameters, &model).unwrap(), checkpoint.params);
		// The file is open: another checkpoint in its place does not matter.
		std::fs::remove_file(data_path(folder.path(), &header)).unwrap();
		assert_eq!(values(&parameters, &model).unwrap(), checkpoint.params);
	}

	#[test]
	fn a_checkpoint_that_is_not_what_its_header_says_is_refused() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		checkpoint.save(folder.path(), &ParamLayout::new(&model).unwrap()).unwrap();
		let path = data_path(folder.path(), &checkpoint.header);
		let bytes = std::fs::read(&path).unwrap();
		let mut other = bytes.clone();
		other[1] ^= 1;
		std::fs::write(&path, other).unwrap();
		let error = || Parameters::of_checkpoint(folder.path(), &model, 1).unwrap_err();
		assert!(matches!(error(), ParametersError::Checkpoint(CheckpointError::Root { part: "parameters", .. })));
		std::fs::write(&path, &bytes[..1_000]).unwrap();
		assert!(matches!(error(), ParametersError::File(FileError::Io { .. })));
	}

	#[test]
	fn a_file_that_changes_later_is_not_used() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		export(folder.path(), &model, &Tokenizer::bytes(), &checkpoint.params).unwrap();
		let parameters = Parameters::of_folder(folder.path(), &model, 1).unwrap();
		let bytes: Vec<u8> = checkpoint.params.iter().flat_map(|value| value.to_le_bytes()).collect();
		assert_eq!(parameters.root, H256(blake2_256(&bytes)));
		assert_eq!(values(&parameters, &model).unwrap(), checkpoint.params);
		let path = folder.path().join("model.safetensors");
		let mut bytes = std::fs::read(&path).unwrap();
		*bytes.last_mut().unwrap() ^= 1;
		// The same file: it is not replaced, but written to.
		std::fs::File::options().write(true).open(&path).unwrap().write_all_at(&bytes, 0).unwrap();
		let error = values(&parameters, &model).unwrap_err().to_string();
		assert!(error.contains("has changed"), "{error}");
	}

	/// A checkpoint cannot have such weights: its tiles are refused.
	#[test]
	fn a_weight_that_is_infinite_or_no_number_is_refused_with_its_file_and_tensor() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		let layout = ParamLayout::new(&model).unwrap();
		// The file's tensors one after the other, in the order of the layout; each number in so many bytes.
		let write = |dtype: &str, width: usize, numbers: &[u8]| {
			let (mut entries, mut offset) = (Vec::new(), 0);
			for tensor in layout.tensors() {
				let end = offset + tensor.len() * width;
				let (name, rows, cols) = (&tensor.name, tensor.rows, tensor.cols);
				entries.push(format!(
					"\"{name}\": {{\"dtype\": \"{dtype}\", \"shape\": [{rows}, {cols}], \"data_offsets\": [{offset}, {end}]}}"
				));
				offset = end;
			}
			let header = format!("{{{}}}", entries.join(", "));
			let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), numbers].concat();
			std::fs::write(folder.path().join("model.safetensors"), file).unwrap();
			Parameters::of_folder(folder.path(), &model, 1)
		};
		let norm = layout.tensors().iter().find(|tensor| tensor.name == "model.norm.weight").unwrap();
		let at = norm.range().end - 1;
		for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0xff80_0001)] {
			let mut params = checkpoint.params.clone();
			params[at] = wrong;
			let bytes: Vec<u8> = params.iter().flat_map(|value| value.to_le_bytes()).collect();
			let error = write("F32", 4, &bytes).unwrap_err();
			assert!(matches!(&error, ParametersError::NotFinite { tensor, .. } if tensor == "model.norm.weight"), "{error}");
			assert!(error.to_string().contains("model.safetensors, model.norm.weight: "), "{error}");
		}
		let halves = |dtype: &str, wrong: u16| {
			let mut bytes = vec![0; 2 * layout.len()];
			bytes[2 * at..2 * at + 2].copy_from_slice(&wrong.to_le_bytes());
			write(dtype, 2, &bytes)
		};
		for (dtype, largest, infinite, none) in [("F16", 0x7bff, 0x7c00, 0xfe01), ("BF16", 0x7f7f, 0xff80, 0x7fc0)] {
			halves(dtype, largest).unwrap();
			for wrong in [infinite, none] {
				let error = halves(dtype, wrong).unwrap_err();
				assert!(matches!(&error, ParametersError::NotFinite { tensor, .. } if tensor == "model.norm.weight"), "{error}");
			}
		}
	}

	/// A safetensors file of this header and so many bytes of tensors.
	fn file_of(header: &str, bytes: usize) -> Vec<u8> {
		[&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; bytes]].concat()
	}

	#[test]
	fn what_is_no_safetensors_file_is_refused() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		export(folder.path(), &model, &Tokenizer::bytes(), &checkpoint.params).unwrap();
		let path = folder.path().join("model.safetensors");
		let bytes = std::fs::read(&path).unwrap();
		let error = |bytes: &[u8]| {
			std::fs::write(&path, bytes).unwrap();
			Parameters::of_folder(folder.path(), &model, 1).unwrap_err()
		};
		let broken = |bytes: &[u8], words: &str| {
			let error = error(bytes);
			assert!(matches!(&error, ParametersError::Broken { what, .. } if what.contains(words)), "{words}: {error}");
			assert!(error.to_string().contains("model.safetensors"), "{error}");
		};
		assert!(matches!(error(&[]), ParametersError::File(FileError::Other { what: "empty", .. })));
		let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4096\n";
		assert!(error(pointer).to_string().contains("model.safetensors is a Git LFS pointer"));
		broken(&u64::MAX.to_le_bytes(), "its header would have 18446744073709551615 bytes");
		broken(&[1, 0, 0], "does not begin with a header");
		broken(&[&(bytes.len() as u64).to_le_bytes()[..], b"{"].concat(), "its header would have");
		broken(&bytes[..bytes.len() - 1], "ends before its tensors do");
		broken(&[&bytes[..], b"12"].concat(), "2 bytes follow its tensors");
		// The length of this header begins like a pickle.
		let like_a_pickle = file_of(&format!("{{{}}}", " ".repeat(638)), 0);
		assert!(like_a_pickle.starts_with(b"\x80\x02") && matches!(error(&like_a_pickle), ParametersError::Tensor { .. }));
		let header = String::from_utf8_lossy(&bytes[8..]).find("model.norm.weight").unwrap();
		let mut renamed = bytes.clone();
		renamed[8 + header] = b'n';
		assert!(matches!(error(&renamed), ParametersError::Tensor { tensor, .. } if tensor == "model.norm.weight"));
		let mut cut = bytes.clone();
		cut[9] = b'[';
		assert!(matches!(error(&cut), ParametersError::Json { .. }));
		assert!(error(&file_of("{\"a\": {\"dtype\": \"F31\", \"shape\": [], \"data_offsets\": [0, 0]}}", 0)).to_string().contains("F31"));
	}

	#[test]
	fn tensors_follow_one_another_without_holes_and_no_two_have_a_name() {
		let folder = tempfile::tempdir().unwrap();
		let (model, _) = genesis();
		let path = folder.path().join("model.safetensors");
		let error = |entries: &[(&str, &str, [u64; 2])]| {
			let entries = entries.iter().map(|(name, shape, [from, to])| {
				format!("\"{name}\": {{\"dtype\": \"F32\", \"shape\": {shape}, \"data_offsets\": [{from}, {to}]}}")
			});
			std::fs::write(&path, file_of(&format!("{{{}}}", entries.collect::<Vec<_>>().join(", ")), 16)).unwrap();
			Parameters::of_folder(folder.path(), &model, 1).unwrap_err().to_string()
		};
		assert!(error(&[("a", "[2]", [0, 8]), ("b", "[2]", [8, 16])]).contains("no tensor model."));
		assert!(error(&[("a", "[2]", [0, 8]), ("b", "[3]", [4, 16])]).contains("no whole safetensors file"));
		assert!(error(&[("a", "[1]", [0, 4]), ("b", "[2]", [8, 16])]).contains("no whole safetensors file"));
		assert!(error(&[("a", "[3]", [4, 16])]).contains("no whole safetensors file"));
		assert!(error(&[("a", "[3]", [0, 16])]).contains("no whole safetensors file"));
		assert!(error(&[("a", "[2]", [16, 8])]).contains("no whole safetensors file"));
		assert!(error(&[("a", "[4294967296, 4294967296, 4]", [0, 16])]).contains("no whole safetensors file"));
		assert!(error(&[("a", "[2]", [0, 8]), ("a", "[2]", [8, 16])]).contains("\"a\" twice"));
		assert!(error(&[("a", "[-1]", [0, 16])]).contains("not understood"));
		assert!(error(&[("a", "[4]", [0, 16]), ("__metadata__", "[0]", [0, 0])]).contains("no tensor model."));
	}

	#[test]
	fn a_header_of_many_entries_is_refused_before_they_are_kept() {
		let folder = tempfile::tempdir().unwrap();
		let (model, _) = genesis();
		let path = folder.path().join("model.safetensors");
		let mut header = String::from("{");
		for index in 0..70_000 {
			header += &format!("\"{index}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}},");
		}
		header.pop();
		std::fs::write(&path, file_of(&(header.clone() + "}"), 0)).unwrap();
		let error = || Parameters::of_folder(folder.path(), &model, 1).unwrap_err().to_string();
		assert!(error().contains("more than 65536 entries"), "{}", error());
		// It is not even read: all of it is a name that does not end.
		std::fs::write(&path, file_of(&(String::from("{\"") + &"x".repeat(17 << 20)), 0)).unwrap();
		assert!(error().contains("16777216 at most are read"), "{}", error());
	}

	#[test]
	fn an_index_names_files_beside_it_that_have_what_it_says() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		export(folder.path(), &model, &Tokenizer::bytes(), &checkpoint.params).unwrap();
		let path = |name: &str| folder.path().join(name);
		std::fs::rename(path("model.safetensors"), path("part-1.safetensors")).unwrap();
		let layout = ParamLayout::new(&model).unwrap();
		let named = |of: &dyn Fn(&str) -> Option<String>| {
			let map = layout.tensors().iter().filter_map(|tensor| Some((tensor.name.clone(), of(&tensor.name)?)));
			let map: BTreeMap<String, String> = map.collect();
			std::fs::write(path("model.safetensors.index.json"), serde_json::json!({ "weight_map": map }).to_string()).unwrap();
			Parameters::of_folder(folder.path(), &model, 1)
		};
		let whole = named(&|_| Some("part-1.safetensors".into())).unwrap();
		assert_eq!(values(&whole, &model).unwrap(), checkpoint.params);
		let error = |of: &dyn Fn(&str) -> Option<String>| named(of).unwrap_err().to_string();
		let second = |norm: &'static str| {
			move |tensor: &str| Some(if tensor == "model.norm.weight" { norm } else { "part-1.safetensors" }.to_owned())
		};
		assert!(
			error(&second("part-2.safetensors")).contains("there is no")
				&& error(&second("part-2.safetensors")).contains("part-2.safetensors")
		);
		assert!(error(&second("../part-1.safetensors")).contains("no file of its folder"));
		assert!(error(&second("")).contains("no file of its folder"));
		let without = |tensor: &str| (tensor != "model.norm.weight").then(|| "part-1.safetensors".to_owned());
		assert!(error(&without).contains("index.json has no tensor model.norm.weight"));
		// The other file has it not, though another one has.
		std::fs::write(path("part-2.safetensors"), file_of("{}", 0)).unwrap();
		assert!(error(&second("part-2.safetensors")).contains("part-2.safetensors has no tensor model.norm.weight"));
		std::fs::write(path("model.safetensors.index.json"), "version https://git-lfs.github.com/spec/v1\n").unwrap();
		let pointer = Parameters::of_folder(folder.path(), &model, 1).unwrap_err().to_string();
		assert!(pointer.contains("index.json is a Git LFS pointer"), "{pointer}");
	}

	#[test]
	fn half_precision_is_converted_exactly() {
		let known = [
			(0x0000, 0.0),
			(0x8000, -0.0),
			(0x3c00, 1.0),
			(0xc000, -2.0),
			(0x7bff, 65_504.0),
			(0x0001, 5.960_464_5e-8),
			(0x0400, 6.103_515_6e-5),
		];
		for (bits, value) in known {
			assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
		}
		assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
	}
}
