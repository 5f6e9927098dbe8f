//! The pages in the repository are what the code says.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_reference::{pages, workspace};

#[test]
fn every_page_of_the_reference_is_what_the_code_says() {
	for page in pages().unwrap() {
		let path = workspace().join("docs/reference").join(page.name);
		let found = std::fs::read_to_string(&path).unwrap_or_default();
		let line = found.lines().zip(page.text.lines()).position(|(one, other)| one != other).map(|line| line + 1);
		assert!(found == page.text, "{}: line {line:?} is not what the code says; run scripts/reference.sh", path.display());
	}
}
