//! Comparison of a type of the chain's metadata with a type of this worker: whether they have the same encoding and the same names.
//!
//! Values cross as plain SCALE, which carries no types: a chain whose fields come in another order would be misread silently. So before
//! a call or view function is used, its types in the metadata are compared with the worker's own, all the way down.

use scale_info::{
	form::PortableForm, interner::UntrackedSymbol, Field, MetaType, PortableRegistry, Registry, Type, TypeDef, TypeDefPrimitive, TypeInfo,
	Variant,
};
use std::{any::TypeId, collections::HashSet};

/// First difference between two types.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path}: the chain has {chain}, this worker {worker}")]
pub struct Mismatch {
	/// Way to the difference, as field and variant names.
	pub path: String,
	/// Part of the chain's type there.
	pub chain: String,
	/// Part of the worker's type there.
	pub worker: String,
}

/// Compares the chain's type `id` with `T`.
///
/// # Errors
/// The first difference.
pub fn same<T: TypeInfo + 'static>(chain: &PortableRegistry, id: u32) -> Result<(), Mismatch> {
	let (worker, own) = registry::<T>();
	Comparison { chain, worker: &worker, seen: HashSet::new() }.types(id, own, short_name::<T>())
}

/// Compares a call's argument types on the chain with the fields of the tuple `T`.
///
/// # Errors
/// The first difference, or another number of arguments.
pub fn same_arguments<T: TypeInfo + 'static>(chain: &PortableRegistry, arguments: &[(&str, u32)]) -> Result<(), Mismatch> {
	let (worker, own) = registry::<T>();
	let fields = match worker.resolve(own).map(|one| &one.type_def) {
		Some(TypeDef::Tuple(tuple)) => tuple.fields.iter().map(|field| field.id).collect::<Vec<_>>(),
		_ => vec![own],
	};
	if fields.len() != arguments.len() {
		let names: Vec<_> = arguments.iter().map(|(name, _)| *name).collect();
		return Err(Mismatch {
			path: "arguments".into(),
			chain: format!("{} ({})", arguments.len(), names.join(", ")),
			worker: fields.len().to_string(),
		});
	}
	let mut comparison = Comparison { chain, worker: &worker, seen: HashSet::new() };
	arguments.iter().zip(fields).try_for_each(|((name, id), own)| comparison.types(*id, own, (*name).to_owned()))
}

fn registry<T: TypeInfo + 'static>() -> (PortableRegistry, u32) {
	let mut registry = Registry::new();
	let symbol: UntrackedSymbol<TypeId> = registry.register_type(&MetaType::new::<T>());
	(registry.into(), symbol.id)
}

fn short_name<T>() -> String {
	let name = std::any::type_name::<T>();
	name.split('<').next().and_then(|path| path.rsplit("::").next()).unwrap_or(name).to_owned()
}

struct Comparison<'a> {
	chain: &'a PortableRegistry,
	worker: &'a PortableRegistry,
	/// Pairs that are compared already or being compared: types may be recursive.
	seen: HashSet<(u32, u32)>,
}

impl Comparison<'_> {
	fn types(&mut self, chain: u32, worker: u32, path: String) -> Result<(), Mismatch> {
		if !self.seen.insert((chain, worker)) {
			return Ok(());
		}
		let (Some(left), Some(right)) = (unwrapped(self.chain, chain), unwrapped(self.worker, worker)) else {
			return Err(Mismatch { path, chain: format!("no type {chain}"), worker: format!("type {worker}") });
		};
		let differ = || Err(Mismatch { path: path.clone(), chain: describe(left), worker: describe(right) });
		match (&left.type_def, &right.type_def) {
			(TypeDef::Primitive(left), TypeDef::Primitive(right)) if left == right => Ok(()),
			(TypeDef::Compact(left), TypeDef::Compact(right)) => self.types(left.type_param.id, right.type_param.id, path),
			(TypeDef::Sequence(left), TypeDef::Sequence(right)) => self.types(left.type_param.id, right.type_param.id, format!("{path}[]")),
			(TypeDef::Array(left), TypeDef::Array(right)) if left.len == right.len => {
				self.types(left.type_param.id, right.type_param.id, format!("{path}[]"))
			}
			(TypeDef::Variant(left), TypeDef::Variant(right)) if left.variants.len() == right.variants.len() => {
				left.variants.iter().zip(&right.variants).try_for_each(|(left, right)| self.variants(left, right, &path))
			}
			_ => match (parts(left), parts(right)) {
				(Some(left), Some(right)) if left.len() == right.len() => {
					left.into_iter().zip(right).try_for_each(|(left, right)| self.parts(left, right, &path))
				}
				_ => differ(),
			},
		}
	}

	fn variants(&mut self, left: &Variant<PortableForm>, right: &Variant<PortableForm>, path: &str) -> Result<(), Mismatch> {
		let path = format!("{path}::{}", left.name);
		if (left.index, &left.name, left.fields.len()) != (right.index, &right.name, right.fields.len()) {
			let describe = |one: &Variant<PortableForm>| format!("variant {} {} with {} fields", one.index, one.name, one.fields.len());
			return Err(Mismatch { path, chain: describe(left), worker: describe(right) });
		}
		left.fields.iter().zip(&right.fields).try_for_each(|(left, right)| self.parts(part(left), part(right), &path))
	}

	fn parts(&mut self, left: Part<'_>, right: Part<'_>, path: &str) -> Result<(), Mismatch> {
		let path = format!("{path}.{}", left.name.or(right.name).unwrap_or("_"));
		match (left.name, right.name) {
			(Some(chain), Some(worker)) if chain != worker => {
				Err(Mismatch { path, chain: format!("field {chain}"), worker: format!("field {worker}") })
			}
			_ => self.types(left.id, right.id, path),
		}
	}
}

/// A field of a struct or tuple.
struct Part<'a> {
	name: Option<&'a str>,
	id: u32,
}

fn part(field: &Field<PortableForm>) -> Part<'_> {
	Part { name: field.name.as_deref(), id: field.ty.id }
}

/// The type itself, or what a struct or tuple with a single field encodes as: that field.
fn unwrapped(registry: &PortableRegistry, mut id: u32) -> Option<&Type<PortableForm>> {
	// A chain of single fields is short; the bound only guards against circular metadata.
	for _ in 0..16 {
		let one = registry.resolve(id)?;
		match &one.type_def {
			TypeDef::Composite(composite) => match composite.fields.as_slice() {
				[field] => id = field.ty.id,
				_ => return Some(one),
			},
			TypeDef::Tuple(tuple) => match tuple.fields.as_slice() {
				[field] => id = field.id,
				_ => return Some(one),
			},
			_ => return Some(one),
		}
	}
	None
}

fn parts(one: &Type<PortableForm>) -> Option<Vec<Part<'_>>> {
	match &one.type_def {
		TypeDef::Composite(composite) => Some(composite.fields.iter().map(part).collect()),
		TypeDef::Tuple(tuple) => Some(tuple.fields.iter().map(|field| Part { name: None, id: field.id }).collect()),
		_ => None,
	}
}

fn describe(one: &Type<PortableForm>) -> String {
	let ident = one.path.ident();
	let name = ident.as_deref();
	match &one.type_def {
		TypeDef::Primitive(primitive) => primitive_name(primitive).to_owned(),
		TypeDef::Composite(composite) => format!("{} with {} fields", name.unwrap_or("a struct"), composite.fields.len()),
		TypeDef::Tuple(tuple) => format!("a tuple of {}", tuple.fields.len()),
		TypeDef::Variant(variant) => format!("{} with {} variants", name.unwrap_or("an enum"), variant.variants.len()),
		TypeDef::Sequence(_) => "a list".into(),
		TypeDef::Array(array) => format!("an array of {}", array.len),
		TypeDef::Compact(_) => "a compact number".into(),
		TypeDef::BitSequence(_) => "a bit sequence".into(),
	}
}

fn primitive_name(primitive: &TypeDefPrimitive) -> &'static str {
	match primitive {
		TypeDefPrimitive::Bool => "bool",
		TypeDefPrimitive::Char => "char",
		TypeDefPrimitive::Str => "str",
		TypeDefPrimitive::U8 => "u8",
		TypeDefPrimitive::U16 => "u16",
		TypeDefPrimitive::U32 => "u32",
		TypeDefPrimitive::U64 => "u64",
		TypeDefPrimitive::U128 => "u128",
		TypeDefPrimitive::U256 => "u256",
		TypeDefPrimitive::I8 => "i8",
		TypeDefPrimitive::I16 => "i16",
		TypeDefPrimitive::I32 => "i32",
		TypeDefPrimitive::I64 => "i64",
		TypeDefPrimitive::I128 => "i128",
		TypeDefPrimitive::I256 => "i256",
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Compact;
	use neuroshard_types::{
		provider::{HardwareProfile, ProviderView, UnbondingChunk},
		run::{RoundView, RunView},
		AccountId, Balance, H256,
	};

	#[allow(dead_code, reason = "only its type information is used")]
	#[derive(TypeInfo)]
	struct Swapped {
		unlocks_at: Balance,
		amount: u32,
	}
	#[allow(dead_code, reason = "only its type information is used")]
	#[derive(TypeInfo)]
	struct Renamed {
		gflops: u32,
		bandwidth_kib_s: u32,
		memory_mib: u32,
	}
	#[allow(dead_code, reason = "only its type information is used")]
	#[derive(TypeInfo)]
	enum Less {
		Driver,
	}

	fn compare<Chain: TypeInfo + 'static, Worker: TypeInfo + 'static>() -> Result<(), Mismatch> {
		let (chain, id) = registry::<Chain>();
		same::<Worker>(&chain, id)
	}

	#[test]
	fn a_type_is_like_itself_and_like_its_only_field() {
		compare::<RunView, RunView>().unwrap();
		compare::<Option<RoundView>, Option<RoundView>>().unwrap();
		compare::<AccountId, [u8; 32]>().unwrap();
		compare::<H256, (AccountId,)>().unwrap();
	}

	#[test]
	fn other_names_orders_and_widths_are_found_and_located() {
		let error = compare::<Swapped, UnbondingChunk>().unwrap_err();
		assert_eq!(error.chain, "field unlocks_at");
		let error = compare::<Renamed, HardwareProfile>().unwrap_err();
		assert!(error.to_string().contains("bandwidth_kib_s"), "{error}");
		assert!(compare::<u64, Balance>().unwrap_err().to_string().contains("the chain has u64, this worker u128"));
		assert!(compare::<Compact<u128>, u128>().is_err());
		assert!(compare::<[u8; 65], [u8; 64]>().is_err());
		assert!(compare::<Less, neuroshard_types::provider::Role>().is_err());
	}

	#[test]
	fn a_difference_deep_inside_names_its_way() {
		let error = compare::<Option<RunView>, Option<ProviderView>>().unwrap_err();
		assert!(error.path.starts_with("Option::Some"), "{error}");
	}

	#[test]
	fn arguments_are_compared_one_by_one() {
		let (chain, id) = registry::<(u32, AccountId)>();
		let Some(TypeDef::Tuple(tuple)) = chain.resolve(id).map(|one| &one.type_def) else { unreachable!() };
		let arguments: Vec<_> = ["run", "who"].into_iter().zip(tuple.fields.iter().map(|field| field.id)).collect();
		same_arguments::<(u32, AccountId)>(&chain, &arguments).unwrap();
		let error = same_arguments::<(u32,)>(&chain, &arguments).unwrap_err();
		assert!(error.to_string().contains("2 (run, who)"), "{error}");
		let error = same_arguments::<(u64, AccountId)>(&chain, &arguments).unwrap_err();
		assert_eq!(error.path, "run");
	}
}
