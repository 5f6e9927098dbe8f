//! Parameters in files, of which one tensor at a time is in memory.
//!
//! All of a file is read once, for the root. What is read of it later has to be the same: a file may change meanwhile.

use crate::train::checkpoint::{data_path, Checkpoint, CheckpointError, Header};
use blake2b_simd::Params;
use neuroshard_graph::{
	exec::{Exec, Inference, InferenceError, RopeScaling, Stage},
	merkle::{merkle_root, Hash},
	tiles::{self, leaf_hashes, DecodeError},
	Class, ConfigError, ModelConfig, ParamLayout, ParamTensor,
};
use neuroshard_types::H256;
use safetensors::{tensor::Metadata, Dtype};
use serde::Deserialize;
use std::{
	borrow::Cow,
	collections::{BTreeMap, BTreeSet},
	fs::File,
	io,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
	sync::Arc,
};

/// Bytes before the header of a safetensors file, which are its length.
const LENGTH_BYTES: u64 = 8;
/// Bytes of the longest header, as the format says.
const LONGEST_HEADER: u64 = 100_000_000;

/// Why parameters cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ParametersError {
	/// A file cannot be read.
	#[error("cannot read {path}: {source}", path = path.display())]
	File {
		/// Which one.
		path: PathBuf,
		/// What the system said.
		source: io::Error,
	},
	/// The header of a checkpoint.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// The header of a safetensors file, or the index of several.
	#[error("{path} is not understood: {source}", path = path.display())]
	Json {
		/// Which file.
		path: PathBuf,
		/// Why.
		source: serde_json::Error,
	},
	/// A header that is longer than the format allows, or than its file.
	#[error("{path} is no safetensors file: its header would have {length} bytes", path = path.display())]
	Header {
		/// Which file.
		path: PathBuf,
		/// Bytes that it would have.
		length: u64,
	},
	/// A tensor that the model needs.
	#[error("the weights have no tensor {0} of the shape that config.json says, in f32 or in 16 bits")]
	Tensor(String),
	/// Tiles that are no encoding of the tensor.
	#[error("{path}, {tensor}: {source}", path = path.display())]
	Tiles {
		/// Which file.
		path: PathBuf,
		/// Which tensor.
		tensor: String,
		/// What is wrong.
		source: DecodeError,
	},
	/// The file has changed since its root was computed.
	#[error("{path} has changed since this command was started: start it anew", path = path.display())]
	Changed {
		/// Which file.
		path: PathBuf,
	},
	/// The shape of the model.
	#[error("this model is not served: {0}")]
	Config(#[from] ConfigError),
	/// The engine.
	#[error(transparent)]
	Inference(#[from] InferenceError),
}

/// How a tensor is written in its file.
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
}

impl Opened {
	fn open(path: PathBuf) -> Result<Arc<Self>, ParametersError> {
		match File::open(&path) {
			Ok(file) => Ok(Arc::new(Self { path, file })),
			Err(source) => Err(ParametersError::File { path, source }),
		}
	}

	fn failed(&self, source: io::Error) -> ParametersError {
		ParametersError::File { path: self.path.clone(), source }
	}

	fn len(&self) -> Result<u64, ParametersError> {
		Ok(self.file.metadata().map_err(|error| self.failed(error))?.len())
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

/// What of `model.safetensors.index.json` matters.
#[derive(Deserialize)]
struct Index {
	weight_map: BTreeMap<String, String>,
}

/// What a model computes, but for its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
	/// Its shape.
	pub config: ModelConfig,
	/// How it turns by positions.
	pub scaling: RopeScaling,
}

/// The parameters of a model, in files.
#[derive(Clone, Debug)]
pub struct Parameters {
	/// Hash of all of them: the checkpoint's root, or Blake2-256 of the values of a folder, little-endian, in the order of [`ParamLayout`].
	pub root: H256,
	/// Where each tensor is, and the root of its leaves.
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

	/// Those in the safetensors files of a folder in Hugging Face Llama layout: one file, or those that the index names.
	///
	/// # Errors
	/// [`ParametersError`].
	pub fn of_folder(folder: &Path, model: &ModelConfig, threads: usize) -> Result<Self, ParametersError> {
		let layout = ParamLayout::new(model)?;
		let index = folder.join("model.safetensors.index.json");
		let files: BTreeSet<String> = match index.exists() {
			true => {
				let file = Opened::open(index)?;
				let index = serde_json::from_reader::<_, Index>(io::BufReader::new(&file.file));
				index.map_err(|source| ParametersError::Json { path: file.path.clone(), source })?.weight_map.into_values().collect()
			}
			false => BTreeSet::from(["model.safetensors".to_owned()]),
		};
		let mut places: BTreeMap<String, Place> = BTreeMap::new();
		for file in files {
			// Names of files only: an index leads nowhere else.
			let file = Opened::open(folder.join(Path::new(&file).file_name().unwrap_or_default()))?;
			for (name, place) in places_in(&file, &layout)? {
				places.entry(name).or_insert(place);
			}
		}
		let (mut state, mut tensors) = (Params::new().hash_length(32).to_state(), Vec::with_capacity(layout.tensors().len()));
		for tensor in layout.tensors() {
			let place = places.remove(&tensor.name).ok_or_else(|| ParametersError::Tensor(tensor.name.clone()))?;
			let (bytes, hashes) = place.read(threads)?;
			match place.form {
				Form::F32 => _ = state.update(&bytes),
				_ => place.decode(tensor, &bytes)?.iter().for_each(|value| _ = state.update(&value.to_le_bytes())),
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

	/// A part of the model, whose shape is the one that these were opened with.
	///
	/// # Errors
	/// [`ParametersError`].
	pub fn load(&self, exec: Arc<Exec>, shape: &Shape, stage: &Stage, class: Class) -> Result<Inference, ParametersError> {
		Inference::load(exec, &shape.config, shape.scaling, stage, class, |index, tensor| self.tensor(index, tensor).map(Cow::Owned))
	}
}

/// The tensors of `layout` that a safetensors file has, by their names.
fn places_in(file: &Arc<Opened>, layout: &ParamLayout) -> Result<Vec<(String, Place)>, ParametersError> {
	let mut length = [0; 8];
	file.file.read_exact_at(&mut length, 0).map_err(|error| file.failed(error))?;
	let length = u64::from_le_bytes(length);
	let start = length.saturating_add(LENGTH_BYTES);
	let header = match usize::try_from(length) {
		Ok(header) if length <= LONGEST_HEADER && start <= file.len()? => file.read(LENGTH_BYTES, header)?,
		_ => return Err(ParametersError::Header { path: file.path.clone(), length }),
	};
	let header: Metadata = serde_json::from_slice(&header).map_err(|source| ParametersError::Json { path: file.path.clone(), source })?;
	let mut places = Vec::new();
	for tensor in layout.tensors() {
		let Some(told) = header.info(&tensor.name) else { continue };
		let fits = told.shape == [tensor.rows, tensor.cols] || (tensor.rows == 1 && told.shape == [tensor.cols]);
		// The header was checked: from the first to the second there are as many bytes as the shape takes.
		let (first, end) = told.data_offsets;
		let offset = u64::try_from(first).ok().and_then(|first| start.checked_add(first));
		match (Form::of(told.dtype).filter(|_| fits), offset) {
			(Some(form), Some(offset)) => {
				let place = Place { file: file.clone(), offset, bytes: end.saturating_sub(first), form };
				places.push((tensor.name.clone(), place));
			}
			_ => return Err(ParametersError::Tensor(tensor.name.clone())),
		}
	}
	Ok(places)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{export::export, train::presets};
	use neuroshard_graph::merkle::blake2_256;
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
		assert!(matches!(error(), ParametersError::File { .. }));
	}

	#[test]
	fn a_file_that_changes_later_is_not_used() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		export(folder.path(), &model, &checkpoint.params).unwrap();
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

	#[test]
	fn what_is_no_safetensors_file_is_refused() {
		let folder = tempfile::tempdir().unwrap();
		let (model, checkpoint) = genesis();
		export(folder.path(), &model, &checkpoint.params).unwrap();
		let path = folder.path().join("model.safetensors");
		let bytes = std::fs::read(&path).unwrap();
		let error = |bytes: &[u8]| {
			std::fs::write(&path, bytes).unwrap();
			Parameters::of_folder(folder.path(), &model, 1).unwrap_err()
		};
		assert!(matches!(error(&[]), ParametersError::File { .. }));
		assert!(matches!(error(&u64::MAX.to_le_bytes()), ParametersError::Header { length: u64::MAX, .. }));
		assert!(matches!(error(&(bytes.len() as u64).to_le_bytes()), ParametersError::Header { .. }));
		assert!(matches!(error(&bytes[..bytes.len() - 1]), ParametersError::File { .. }));
		let header = String::from_utf8_lossy(&bytes[8..]).find("model.norm.weight").unwrap();
		let mut renamed = bytes.clone();
		renamed[8 + header] = b'n';
		assert!(matches!(error(&renamed), ParametersError::Tensor(name) if name == "model.norm.weight"));
		let mut broken = bytes.clone();
		broken[8] = b'[';
		assert!(matches!(error(&broken), ParametersError::Json { .. }));
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
