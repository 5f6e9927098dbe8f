//! `tokenize TOKENIZER TEXTS`: writes the tokens of texts, a JSON string in each line, as `dataset build` makes them, four bytes each.
//! `scripts/tokenizers.sh` compares them with those of Python's library.

use neuroshard_data::tokenizer::Tokenizer;
use std::{
	error::Error,
	fs::File,
	io::{stdout, BufRead, BufReader, BufWriter, Write},
	path::Path,
};

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let (Some(tokenizer), Some(texts)) = (arguments.next(), arguments.next()) else { return Err("tokenize TOKENIZER TEXTS".into()) };
	let tokenizer = Tokenizer::open(Path::new(&tokenizer), None, false)?;
	let (mut out, mut tokens) = (BufWriter::new(stdout().lock()), Vec::new());
	for line in BufReader::new(File::open(texts)?).lines() {
		tokens.clear();
		tokenizer.encode(&serde_json::from_str::<String>(&line?)?, &mut tokens)?;
		for token in &tokens {
			out.write_all(&token.to_le_bytes())?;
		}
	}
	Ok(out.flush()?)
}
