//! The footer of a file: which columns there are, and where their chunks are.

use super::{
	super::column::{LONGEST_NAME, MOST_NAMES},
	thrift::{Compact, Field},
	Refused,
};

/// Columns within one another.
const MOST_DEPTH: usize = 32;
/// Most bytes of the names that lead to a column.
const LONGEST_PATH: usize = 4 << 10;

/// A column with values.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Leaf {
	/// Names that lead to it, with points between them.
	pub(super) path: String,
	/// Physical type of its values.
	pub(super) kind: i64,
	/// How many of the names are of something that may be missing.
	pub(super) optional: u32,
	/// How many of the names are of something that a row may have several of.
	pub(super) repeated: u32,
	/// What `optional` is of the last one of those.
	pub(super) element: u32,
}

/// The part of a column that is in one row group.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Chunk {
	/// Number of the compression.
	pub(super) codec: i64,
	/// Values, also those that are missing.
	pub(super) values: u64,
	/// Its pages in the file.
	pub(super) start: u64,
	pub(super) end: u64,
}

/// Columns, with their numbers among those with values.
pub(super) type Leaves = Vec<(usize, Leaf)>;

/// Most columns that are found.
const MOST_FOUND: usize = 64;

/// The columns that `is_wanted`, with their numbers among those with values, and the names of the first ones of all.
pub(super) fn find(footer: &[u8], is_wanted: impl Fn(&Leaf) -> bool) -> Result<(Leaves, Vec<String>), Refused> {
	let (mut found, mut names, mut count) = (Vec::new(), Vec::new(), 0usize);
	// What is above, with the number of columns that are still to come in it.
	let mut above: Vec<(Leaf, i64)> = Vec::new();
	let mut root = true;
	Compact(footer).fields(&mut |input, field| {
		if field.number != 2 {
			return Ok(false);
		}
		input.structs(field, |input| {
			let (mut leaf, mut children, mut repetition) = (Leaf::default(), 0, 0);
			input.fields(&mut |input, field| {
				match field.number {
					1 => leaf.kind = input.number(field)?,
					3 => repetition = input.number(field)?,
					4 => leaf.path = input.text(field)?,
					5 => children = input.number(field)?,
					_ => return Ok(false),
				}
				Ok(true)
			})?;
			if std::mem::take(&mut root) {
				return Ok(());
			}
			while above.last().is_some_and(|(_, left)| *left <= 0) {
				above.pop();
			}
			if let Some((parent, left)) = above.last_mut() {
				*left = left.saturating_sub(1);
				leaf.path = format!("{}.{}", parent.path, leaf.path);
				if leaf.path.len() > LONGEST_PATH {
					return Err("the name of a column is too long".into());
				}
				(leaf.optional, leaf.repeated, leaf.element) = (parent.optional, parent.repeated, parent.element);
			}
			leaf.optional = leaf.optional.saturating_add(u32::from(repetition > 0));
			if repetition == 2 {
				(leaf.repeated, leaf.element) = (leaf.repeated.saturating_add(1), leaf.optional);
			}
			match children > 0 {
				true if above.len() == MOST_DEPTH => return Err("its columns are nested too deep".into()),
				true => above.push((leaf, children)),
				false => {
					if names.len() <= MOST_NAMES {
						names.push(leaf.path.chars().take(LONGEST_NAME).collect());
					}
					if found.len() < MOST_FOUND && is_wanted(&leaf) {
						found.push((count, leaf));
					}
					count = count.saturating_add(1);
				}
			}
			Ok(())
		})?;
		Ok(true)
	})?;
	Ok((found, names))
}

/// The chunks of the column with this number, of each row group.
pub(super) fn chunks(footer: &[u8], column: usize) -> Result<Vec<Chunk>, Refused> {
	let mut chunks = Vec::new();
	Compact(footer).fields(&mut |input, field| {
		if field.number != 4 {
			return Ok(false);
		}
		input.structs(field, |input| {
			let mut found = None;
			input.fields(&mut |input, field| {
				if field.number != 1 {
					return Ok(false);
				}
				let mut index = 0usize;
				input.structs(field, |input| {
					let chunk = chunk(input)?;
					if index == column {
						found = chunk;
					}
					index = index.saturating_add(1);
					Ok(())
				})?;
				Ok(true)
			})?;
			chunks.push(found.ok_or("a row group lacks the column, or has it in another file or encrypted")?);
			Ok(())
		})?;
		Ok(true)
	})?;
	Ok(chunks)
}

/// A chunk, if it is in this file and legible.
fn chunk(input: &mut Compact<'_>) -> Result<Option<Chunk>, Refused> {
	let (mut found, mut elsewhere) = (None, false);
	input.fields(&mut |input, field| {
		match field.number {
			1 => {
				input.text(field)?;
				elsewhere = true;
			}
			3 => found = Some(meta(input, field)?),
			_ => return Ok(false),
		}
		Ok(true)
	})?;
	Ok(found.filter(|_| !elsewhere))
}

fn meta(input: &mut Compact<'_>, field: &Field) -> Result<Chunk, Refused> {
	let (mut codec, mut values, mut length, mut data, mut dictionary) = (0, 0, 0, 0, 0);
	input.inner(field, &mut |input, field| {
		let number = match field.number {
			4 => &mut codec,
			5 => &mut values,
			7 => &mut length,
			9 => &mut data,
			11 => &mut dictionary,
			_ => return Ok(false),
		};
		*number = input.number(field)?;
		Ok(true)
	})?;
	let broken = || "the place of a column is broken".to_owned();
	let unsigned = |number: i64| u64::try_from(number).map_err(|_| broken());
	// Some writers have no place, or 0, for a dictionary that there is not.
	let start = if dictionary > 0 && dictionary < data { dictionary } else { data };
	let start = unsigned(start)?;
	let end = start.checked_add(unsigned(length)?).ok_or_else(broken)?;
	Ok(Chunk { codec, values: unsigned(values)?, start, end })
}
