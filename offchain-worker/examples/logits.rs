//! `logits MODEL TOKENS [ADAPTER]`: writes the logits of a model, beside an adapter if one is given, after each token, of four bytes each in the file TOKENS, as f32.
//! `scripts/check-export.sh` and `scripts/finetune.sh` compare them with those of other software.

use neuroshard_compute::exec::{Exec, Piece, Sequence, Stage, Wanted, PAGE_TOKENS};
use neuroshard_graph::Class;
use neuroshard_inference::{Adapted, Card};
use std::{
	error::Error,
	fs,
	io::{stdout, BufWriter, Write},
	path::Path,
	sync::Arc,
};

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let (Some(folder), Some(tokens)) = (arguments.next(), arguments.next()) else { return Err("logits MODEL TOKENS [ADAPTER]".into()) };
	let bytes = fs::read(tokens)?;
	let tokens: Vec<u32> = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
	let exec = Arc::new(Exec::new(2)?);
	let (card, config, parameters) = Card::of_folder(Path::new(&folder), 2)?;
	let stage = Stage::whole(usize::try_from(config.layers)?);
	let mut engine = parameters.load(exec.clone(), &config, &stage, Class::ExactF32)?;
	let adapter =
		arguments.next().map(|folder| Adapted::of_folder(folder.clone(), Path::new(&folder), &config, card.root, &exec)).transpose()?;
	let mut sequence = Sequence::default().beside(adapter.map(|adapter| adapter.packed));
	let (pages, mut out) = (engine.pages(tokens.len().div_ceil(PAGE_TOKENS)), BufWriter::new(stdout().lock()));
	for tokens in tokens.chunks(64) {
		let piece = Piece { sequence: &mut sequence, tokens, wanted: Wanted::All };
		for logit in engine.logits(&pages, &mut [piece])? {
			out.write_all(&logit.to_le_bytes())?;
		}
	}
	Ok(out.flush()?)
}
