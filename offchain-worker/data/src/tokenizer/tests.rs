use super::*;
use serde_json::{json, Value};
use std::{fs, path::PathBuf};

const TEXT: [&str; 3] = ["the cat sat on the mat\n", "the dog sat on the log, and the cat on the dog\n", "Größe und Maß: 世界 世界\n"];

/// A tokenizer of the text above.
fn trained() -> Vec<u8> {
	train::train(TEXT.into_iter(), 300).unwrap()
}

/// Files of a folder, the first of them a tokenizer.
fn files(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
	let folder = tempfile::tempdir().unwrap();
	for (name, bytes) in files {
		fs::write(folder.path().join(name), bytes).unwrap();
	}
	let path = folder.path().join(files[0].0);
	(folder, path)
}

fn open(file: &[u8]) -> Result<Tokenizer, TokenizerError> {
	let (_folder, path) = files(&[("tokenizer.json", file)]);
	Tokenizer::open(&path, None, false)
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
	let mut tokens = Vec::new();
	tokenizer.encode(text, &mut tokens).unwrap();
	tokens
}

/// Added tokens as in a file; all but the last are special.
fn added(tokens: &[(u32, &str)]) -> Value {
	let token = |(id, text): &(u32, &str)| json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true });
	tokens.iter().map(token).collect()
}

#[test]
fn bytes_are_tokens_where_no_tokenizer_is_named() {
	let tokenizer = Tokenizer::bytes();
	assert_eq!(encode(&tokenizer, "hi"), [104, 105, 256]);
	assert_eq!(tokenizer.id(), TokenizerId::BYTES, "what the chain takes for it");
	assert!(open(tokenizer.json()).unwrap().is_bytes());
}

#[test]
fn the_same_text_in_any_order_gives_the_same_tokenizer() {
	let turned = train::train(TEXT.into_iter().rev(), 300).unwrap();
	assert_eq!(trained(), turned);
	assert!(matches!(train::train(TEXT.into_iter(), 256), Err(TokenizerError::Vocabulary { tokens: 256 })));
	assert!(matches!(train::train(TEXT.into_iter(), MAX_VOCAB + 1), Err(TokenizerError::Vocabulary { .. })));
}

#[test]
fn a_trained_tokenizer_loses_nothing_and_ends_documents() {
	let tokenizer = open(&trained()).unwrap();
	let TextTokens { usable, end } = tokenizer.tokens();
	assert_eq!((end, tokenizer.vocab() % 32), (usable - 1, 0));
	assert!(usable > 257 && usable <= 300, "pairs are merged: {usable}");
	let library: Library = String::from_utf8(trained()).unwrap().parse().unwrap();
	for text in TEXT.into_iter().chain(["", "\u{0} <|endoftext|> never seen \u{1f980}"]) {
		let tokens = encode(&tokenizer, text);
		let (last, words) = tokens.split_last().unwrap();
		assert_eq!((*last, library.decode(words, false).unwrap().as_str()), (end, text));
		assert!(!words.contains(&end), "what a text names is text");
	}
	assert!(encode(&tokenizer, TEXT[0]).len() < TEXT[0].len());
	// The library puts the end of a document before each text: here, the document before has one.
	assert_eq!(
		library.encode(TEXT[0], true).unwrap().get_ids(),
		[&[end], &encode(&tokenizer, TEXT[0])[..encode(&tokenizer, TEXT[0]).len() - 1]].concat()
	);
}

#[test]
fn whoever_only_checks_a_tokenizer_makes_no_table_of_its_pattern() {
	let tokenizer = open(&trained()).unwrap();
	let Reader::Library(plain) = &tokenizer.reader else { panic!("a file of its own") };
	assert!(plain.short.get().is_none());
	encode(&tokenizer, "the cat");
	assert!(plain.short.get().is_some_and(Option::is_some));
}

#[test]
fn special_tokens_of_a_text_are_meant_where_that_is_asked_for() {
	let (_folder, path) = files(&[("tokenizer.json", &trained())]);
	let [text, meant] = [false, true].map(|special| Tokenizer::open(&path, None, special).unwrap());
	let end = text.tokens().end;
	let count = |tokenizer: &Tokenizer| encode(tokenizer, "a<|endoftext|>b").iter().filter(|token| **token == end).count();
	assert_eq!((count(&text), count(&meant)), (1, 2));
}

#[test]
fn the_end_of_documents_is_named_by_the_user_or_a_file_or_usual() {
	let model = json!({ "type": "BPE", "vocab": { "a": 0, "b": 1 }, "merges": [] });
	let file = |tokens: &[(u32, &str)]| json!({ "version": "1.0", "added_tokens": added(tokens), "model": model }).to_string().into_bytes();
	let usual = file(&[(2, "<x>"), (3, "</s>")]);
	let config = |name: Value| json!({ "eos_token": name }).to_string().into_bytes();
	let end = |name: Value, asked| {
		let (_folder, path) = files(&[("tokenizer.json", &usual), ("tokenizer_config.json", &config(name))]);
		Tokenizer::open(&path, asked, false).map(|tokenizer| tokenizer.tokens().end).map_err(|error| error.to_string())
	};
	assert_eq!(end(Value::Null, None), Ok(3));
	assert_eq!((end(json!("<x>"), None), end(json!({ "content": "<x>" }), None)), (Ok(2), Ok(2)));
	assert_eq!(end(json!("<x>"), Some("</s>")), Ok(3));
	assert!(end(Value::Null, Some("<y>")).unwrap_err().contains("--end-token"));
	let error = open(&file(&[(2, "<x>"), (3, "<y>")])).map(drop).unwrap_err().to_string();
	assert!(error.contains("--end-token") && error.contains("<x>"), "{error}");
}

#[test]
fn holes_and_vocabularies_that_no_model_has_are_refused() {
	let model = json!({ "type": "BPE", "vocab": { "a": 0, "b": 1 }, "merges": [] });
	let file = |id: u32| json!({ "version": "1.0", "added_tokens": added(&[(id, "</s>")]), "model": model }).to_string().into_bytes();
	assert_eq!(open(&file(2)).unwrap().tokens(), TextTokens { usable: 3, end: 2 });
	assert!(matches!(open(&file(5)), Err(TokenizerError::Hole { hole: 2 })));
	assert!(matches!(open(&file(MAX_VOCAB)), Err(TokenizerError::Vocabulary { .. })));
	for broken in [&b"version https://git-lfs.github.com/spec/v1\n"[..], b"", b"{}", b"[1]"] {
		assert!(matches!(open(broken), Err(TokenizerError::Json(_))));
	}
}

#[test]
fn unknown_words_have_their_token_and_what_looks_like_a_special_one_is_cut() {
	// Its model has the end of a text among its words, as those made with SentencePiece do.
	let vocab = json!([["<unk>", 0.0], ["</s>", -1.0], ["a", -2.0], ["<", -3.0], ["/", -3.0], ["s", -3.0], [">", -3.0]]);
	let model = json!({ "type": "Unigram", "unk_id": 0, "vocab": vocab });
	let file = json!({ "version": "1.0", "added_tokens": added(&[(0, "<unk>"), (1, "</s>")]), "model": model }).to_string().into_bytes();
	let tokenizer = open(&file).unwrap();
	assert_eq!(encode(&tokenizer, "a?a"), [2, 0, 2, 1]);
	assert_eq!(encode(&tokenizer, "a</s>a"), [2, 3, 4, 5, 6, 2, 1]);
}

#[test]
fn what_the_tokenizer_puts_around_texts_stays() {
	let model = json!({ "type": "BPE", "vocab": { "a": 0, "b": 1 }, "merges": [] });
	let special = |name: &str, id: u32| json!({ name: { "id": name, "ids": [id], "tokens": [name] } });
	let file = |before: &str, id: u32| {
		let single = json!([{ "SpecialToken": { "id": before, "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }]);
		let processor = json!({ "type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special(before, id) });
		json!({ "version": "1.0", "added_tokens": added(&[(2, "<s>"), (3, "</s>")]), "model": model, "post_processor": processor })
			.to_string()
			.into_bytes()
	};
	let tokenizer = open(&file("<s>", 2)).unwrap();
	assert_eq!((encode(&tokenizer, "ab"), tokenizer.begin()), (vec![2, 0, 1, 3], Some(2)));
	assert_eq!(encode(&open(&file("</s>", 3)).unwrap(), "ab"), [0, 1, 3], "one end stands between two documents");
}
