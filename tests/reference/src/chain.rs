//! What the runtime says of itself.

use crate::ReferenceError;
use codec::Decode;
use frame_metadata::{v16::RuntimeMetadataV16, RuntimeMetadata, RuntimeMetadataPrefixed};
use neuroshard_runtime::Runtime;
use scale_info::{form::PortableForm, PortableRegistry, TypeDef};

/// Returns the metadata of the runtime that this program is compiled with.
///
/// # Errors
/// [`ReferenceError::Metadata`] if it has none of version 16.
pub fn metadata() -> Result<RuntimeMetadataV16, ReferenceError> {
	let opaque = sp_io::TestExternalities::new_empty().execute_with(|| Runtime::metadata_at_version(16));
	let opaque = opaque.ok_or_else(|| ReferenceError::Metadata("it has none".into()))?;
	let decoded = RuntimeMetadataPrefixed::decode(&mut &opaque[..]).map_err(|error| ReferenceError::Metadata(error.to_string()))?;
	match decoded.1 {
		RuntimeMetadata::V16(metadata) => Ok(metadata),
		other => Err(ReferenceError::Metadata(format!("it is version {}", other.version()))),
	}
}

/// Returns documentation as one line, up to where its sections begin.
pub fn docs(lines: &[String]) -> String {
	let text: Vec<&str> = lines.iter().map(|line| line.trim()).take_while(|line| !line.starts_with('#')).collect();
	text.join(" ").trim().to_owned()
}

/// Returns the name of a type as people write it: the last part of its path, with its parameters.
pub fn type_name(types: &PortableRegistry, id: u32) -> String {
	let Some(ty) = types.resolve(id) else { return "?".into() };
	let name = |id: u32| type_name(types, id);
	match &ty.type_def {
		TypeDef::Primitive(primitive) => format!("{primitive:?}").to_lowercase(),
		TypeDef::Sequence(of) => format!("Vec<{}>", name(of.type_param.id)),
		TypeDef::Array(of) => format!("[{}; {}]", name(of.type_param.id), of.len),
		TypeDef::Tuple(of) => format!("({})", of.fields.iter().map(|field| name(field.id)).collect::<Vec<_>>().join(", ")),
		TypeDef::Compact(of) => name(of.type_param.id),
		TypeDef::BitSequence(_) => "bits".into(),
		TypeDef::Composite(_) | TypeDef::Variant(_) => {
			let last = ty.path.segments.last().cloned().unwrap_or_default();
			let parameters: Vec<String> = ty.type_params.iter().filter_map(|parameter| parameter.ty).map(|ty| name(ty.id)).collect();
			match last.as_str() {
				"BoundedVec" | "WeakBoundedVec" => format!("Vec<{}>", parameters.first().cloned().unwrap_or_default()),
				_ if parameters.is_empty() => last,
				_ => format!("{last}<{}>", parameters.join(", ")),
			}
		}
	}
}

/// Returns parameters as they are written in a call.
pub fn parameters(types: &PortableRegistry, inputs: &[frame_metadata::v16::FunctionParamMetadata<PortableForm>]) -> String {
	inputs.iter().map(|input| format!("{}: {}", input.name, type_name(types, input.ty.id))).collect::<Vec<_>>().join(", ")
}
