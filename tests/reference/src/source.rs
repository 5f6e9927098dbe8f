//! Reading formatted source.

use crate::{workspace, ReferenceError};

/// A documented line: a field, a variant or a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
	/// The line without indentation and the comma or brace at its end.
	pub line: String,
	/// Its documentation, in one line.
	pub docs: String,
}

/// Returns the text of a file of the workspace.
///
/// # Errors
/// [`ReferenceError::Read`].
pub fn read(path: &str) -> Result<String, ReferenceError> {
	let path = workspace().join(path);
	std::fs::read_to_string(&path).map_err(|source| ReferenceError::Read { path, source })
}

/// Returns the documented lines directly inside the block that begins with `head`, in the file at `path`.
///
/// # Errors
/// [`ReferenceError`] without such a block.
pub fn items(path: &str, head: &str) -> Result<Vec<Item>, ReferenceError> {
	items_in(&read(path)?, head).ok_or_else(|| ReferenceError::Missing { path: path.into(), what: head.into() })
}

fn items_in(text: &str, head: &str) -> Option<Vec<Item>> {
	let mut lines = text.lines().skip_while(|line| !line.starts_with(head));
	lines.next()?;
	let (mut items, mut docs) = (Vec::new(), Vec::new());
	for line in lines.take_while(|line| !line.starts_with('}')) {
		let Some(line) = line.strip_prefix('\t').filter(|line| !line.starts_with('\t')) else { continue };
		match line.strip_prefix("///") {
			Some(doc) => docs.push(doc.trim()),
			None if line.starts_with("#[") || line.starts_with('}') || line.starts_with("//") => {}
			None => {
				let line = line.trim_end_matches([',', '{', ' ', ';']).to_owned();
				items.push(Item { line, docs: std::mem::take(&mut docs).join(" ") });
			}
		}
	}
	Some(items)
}

/// Returns the next two string literals after each call of one of `functions` in `text`: a name, and what it is.
pub fn named(text: &str, functions: &[&str]) -> Vec<(String, String)> {
	let mut found = Vec::new();
	for (place, _) in text.match_indices('(') {
		let (before, after) = text.split_at(place);
		if functions.iter().any(|function| before.ends_with(function)) {
			let mut literals = after.split(';').next().unwrap_or(after).split('"').skip(1).step_by(2);
			if let (Some(name), Some(help)) = (literals.next(), literals.next()) {
				found.push((name.to_owned(), help.to_owned()));
			}
		}
	}
	found
}

#[cfg(test)]
mod tests {
	use super::*;

	const SOURCE: &str = "/// A thing.\npub struct Thing {\n\t/// How many\n\t/// there are.\n\tpub count: u32,\n\t#[serde(default)]\n\tpub bare: bool,\n}\n";

	#[test]
	fn fields_come_with_their_documentation() {
		let items = items_in(SOURCE, "pub struct Thing").unwrap();
		assert_eq!(items[0], Item { line: "pub count: u32".into(), docs: "How many there are.".into() });
		assert_eq!(items[1], Item { line: "pub bare: bool".into(), docs: String::new() });
		assert_eq!(items_in(SOURCE, "pub struct Other"), None);
	}

	#[test]
	fn names_are_read_over_line_ends_and_only_of_the_functions_asked_for() {
		let text = "counter(&mut a, \"one\",\n\t\"First\", None);\nother(\"two\", \"Second\");\nlet gauge = |name: &str, help: &str| 1;\ngauge(\"three\", \"Third\", 1);";
		assert_eq!(named(text, &["counter", "gauge"]), [("one".into(), "First".into()), ("three".into(), "Third".into())]);
	}
}
