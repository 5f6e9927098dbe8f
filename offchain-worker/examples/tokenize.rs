//! `tokenize TOKENIZER TEXT`: Blake2-256 over the tokens of each line of a text, four bytes each, as `dataset build` makes them; and how many there are.
//! `scripts/tokenizers.sh` compares it with that of Python's library.

use blake2b_simd::Params;
use neuroshard_data::tokenizer::Tokenizer;
use std::{
	error::Error,
	fs::File,
	io::{BufRead, BufReader},
	path::Path,
};

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let (Some(tokenizer), Some(text)) = (arguments.next(), arguments.next()) else { return Err("tokenize TOKENIZER TEXT".into()) };
	let tokenizer = Tokenizer::open(Path::new(&tokenizer), None, false)?;
	let (mut hash, mut tokens, mut count) = (Params::new().hash_length(32).to_state(), Vec::new(), 0usize);
	for line in BufReader::new(File::open(text)?).lines() {
		tokens.clear();
		tokenizer.encode(&line?, &mut tokens)?;
		count = count.saturating_add(tokens.len());
		for token in &tokens {
			hash.update(&token.to_le_bytes());
		}
	}
	println!("{} {count}", hash.finalize().to_hex());
	Ok(())
}
