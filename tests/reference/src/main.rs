//! `neuroshard-reference`: writes `docs/reference`.

use neuroshard_reference::{pages, workspace};
use std::process::ExitCode;

fn main() -> ExitCode {
	let folder = workspace().join("docs/reference");
	let pages = match pages() {
		Ok(pages) => pages,
		Err(error) => {
			eprintln!("error: {error}");
			return ExitCode::FAILURE;
		}
	};
	if let Err(error) = std::fs::create_dir_all(&folder) {
		eprintln!("error: cannot make {}: {error}", folder.display());
		return ExitCode::FAILURE;
	}
	for page in pages {
		let path = folder.join(page.name);
		if let Err(error) = std::fs::write(&path, page.text) {
			eprintln!("error: cannot write {}: {error}", path.display());
			return ExitCode::FAILURE;
		}
	}
	ExitCode::SUCCESS
}
