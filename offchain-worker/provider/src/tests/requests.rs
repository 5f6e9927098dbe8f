//! Requests, and errors as clients of the OpenAI API read them.

use super::*;
use neuroshard_compute::exec::{Exec, PackedAdapter};
use neuroshard_graph::{Adapter, ParamLayout, Projections, F32};

impl Client {
	/// Posts this to an address of the API, and takes an answer.
	async fn post(&mut self, path: &str, body: &str) -> (String, Value) {
		let head =
			format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
		let (head, body) = self.ask(head + body).await;
		(head.split(' ').nth(1).unwrap().to_owned(), serde_json::from_str(&body).unwrap())
	}
}

impl Client {
	/// Takes what is at an address of the API.
	async fn get(&mut self, path: &str) -> (String, Value) {
		let (head, body) = self.ask(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
		(head.split(' ').nth(1).unwrap().to_owned(), serde_json::from_str(&body).unwrap())
	}
}

const COMPLETIONS: &str = "/v1/completions";
const CHAT: &str = "/v1/chat/completions";
const EMBEDDINGS: &str = "/v1/embeddings";

#[tokio::test]
async fn what_is_wrong_is_told_with_its_field_type_and_code() {
	let server = Running::start(bounds());
	let mut client = server.client().await;
	for (path, body, param, code) in [
		(COMPLETIONS, r#"{"model": "tiny", "prompt": "fn", "n": "2"}"#, json!("n"), json!("invalid_type")),
		(COMPLETIONS, r#"{"model": "tiny", "prompt": "fn", "temprature": 1}"#, json!("temprature"), json!("unknown_parameter")),
		(COMPLETIONS, r#"{"prompt": "fn"}"#, json!("model"), json!("missing_required_parameter")),
		(COMPLETIONS, r#"{"model": "tiny", "prompt": [1, 4000000]}"#, json!("prompt"), json!(null)),
		(COMPLETIONS, r#"{"model": "tiny", "prompt": [[]]}"#, json!("prompt"), json!(null)),
		(CHAT, r#"{"model": "tiny", "messages": [{"role": "user", "content": 1}]}"#, json!("messages[0].content"), json!("invalid_type")),
		(
			CHAT,
			r#"{"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "tools": [{}]}"#,
			json!("tools"),
			json!("unsupported_parameter"),
		),
		(EMBEDDINGS, r#"{"model": "tiny", "input": [300000]}"#, json!("input"), json!(null)),
		(EMBEDDINGS, r#"{"model": "tiny"}"#, json!("input"), json!("missing_required_parameter")),
		(CHAT, "[]", json!(null), json!(null)),
		("/v1/check", r#"{"receipt": 1}"#, json!(null), json!(null)),
	] {
		let (status, answer) = client.post(path, body).await;
		let error = &answer["error"];
		assert_eq!((status.as_str(), &error["type"]), ("400", &json!("invalid_request_error")), "{body}: {error}");
		assert_eq!((&error["param"], &error["code"]), (&param, &code), "{body}: {error}");
	}
	let long = json!({ "model": "tiny", "prompt": "x".repeat(70_000), "max_tokens": 1 }).to_string();
	let (_, answer) = client.post(COMPLETIONS, &long).await;
	assert_eq!((&answer["error"]["param"], &answer["error"]["code"]), (&json!("prompt"), &json!("context_length_exceeded")));
	for header in ["content-type: text/plain", "content-type: application/json\r\ncontent-encoding: gzip"] {
		let request = format!("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\n{header}\r\ncontent-length: 2\r\n\r\n{{}}");
		assert_eq!(client.refused(request).await.0, "415");
	}
	server.end().await;
}

#[tokio::test]
async fn what_clients_send_without_meaning_is_answered_as_if_it_were_not_there() {
	let server = Running::start(bounds());
	let mut client = server.client().await;
	let ask = |more: &str| {
		format!(
			r#"{{"model": "tiny", "prompt": "fn", "max_completion_tokens": 2.0, "seed": 18446744073709551615, "ignore_eos": true{more}}}"#
		)
	};
	let (status, plain) = client.post(COMPLETIONS, &ask("")).await;
	assert_eq!((status.as_str(), &plain["usage"]["completion_tokens"]), ("200", &json!(2)));
	let more = r#", "stream_options": null, "stop": null, "n": 1.0, "user": "me", "tools": [], "logit_bias": {}, "max_tokens": null, "temperature": 1e0"#;
	let (_, same) = client.post(COMPLETIONS, &ask(more)).await;
	assert_eq!(same["choices"], plain["choices"]);
	server.end().await;
}

#[tokio::test]
async fn probabilities_are_the_same_streamed_and_whole() {
	let server = Running::start(bounds());
	let mut client = server.client().await;
	let ask = |stream: bool| {
		let request = json!({ "model": "tiny", "prompt": "fn", "max_tokens": 60, "seed": 1, "temperature": 3, "logprobs": 4, "ignore_eos": true, "stream": stream });
		request.to_string()
	};
	let (_, whole) = client.post(COMPLETIONS, &ask(false)).await;
	client.send(post(ask(true).as_bytes())).await;
	client.up_to("\r\n\r\n").await;
	let stream = client.up_to("[DONE]\n\n").await;
	let whole = &whole["choices"][0]["logprobs"];
	let events = stream.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
	let pieces: Vec<Value> = events.map(|event| event["choices"][0]["logprobs"].clone()).collect();
	for name in ["tokens", "text_offset", "token_logprobs", "top_logprobs"] {
		let streamed: Vec<Value> = pieces.iter().flat_map(|piece| piece[name].as_array().unwrap().clone()).collect();
		assert_eq!(whole[name], Value::from(streamed), "{name}");
		assert_eq!(whole[name].as_array().unwrap().len(), 60);
	}
	// Most bytes that are drawn here are parts of characters.
	assert!(whole["tokens"].as_array().unwrap().iter().any(|token| token.as_str().unwrap().starts_with("bytes:")), "{whole}");
	assert!(whole["top_logprobs"].as_array().unwrap().iter().all(|top| top.as_object().unwrap().len() == 4), "{whole}");
	server.end().await;
}

/// Scores of each prompt are those of a server that is asked for one token after each beginning of it.
#[tokio::test]
async fn probabilities_of_prompts_are_those_of_answers_whether_prompts_are_text_or_tokens_or_several() {
	let server = Running::start(bounds());
	let mut client = server.client().await;
	let tokens: Vec<u32> = std::iter::once(256).chain("let x = 7; let x = 7;".bytes().map(u32::from)).collect();
	let mut expected = vec![(json!(null), json!(null))];
	for end in 1..tokens.len() {
		let request =
			json!({ "model": "tiny", "prompt": tokens[..end], "max_tokens": 1, "logprobs": 20, "temperature": 0, "ignore_eos": true });
		let (_, answer) = client.post(COMPLETIONS, &request.to_string()).await;
		let top = answer["choices"][0]["logprobs"]["top_logprobs"][0].clone();
		expected.push((top[char::from_u32(tokens[end]).unwrap().to_string()].clone(), top));
	}
	for (prompt, most) in [(json!(tokens), 0), (json!("let x = 7; let x = 7;"), 0), (json!([tokens, tokens]), 1)] {
		let request = json!({ "model": "tiny", "prompt": prompt, "max_tokens": most, "logprobs": 20, "echo": true, "temperature": 0 });
		let (status, answer) = client.post(COMPLETIONS, &request.to_string()).await;
		assert_eq!(status, "200", "{answer}");
		for choice in answer["choices"].as_array().unwrap() {
			assert!(choice["text"].as_str().unwrap().starts_with("let x = 7; let x = 7;"), "{choice}");
			let told = &choice["logprobs"];
			let lists = ["tokens", "token_logprobs", "top_logprobs", "text_offset"].map(|name| told[name].as_array().unwrap());
			assert!(lists.iter().all(|list| list.len() == tokens.len() + most), "{told}");
			let [names, logs, tops, offsets] = lists;
			assert_eq!((&names[0], &names[1], &offsets[1], &offsets[4]), (&json!("<|endoftext|>"), &json!("l"), &json!(0), &json!(3)));
			for (place, (log, top)) in expected.iter().enumerate() {
				assert_eq!(tops[place], *top, "{place}");
				// Among the likeliest 20, or else less likely than those.
				let least = top.as_object().and_then(|top| top.values().filter_map(Value::as_f64).reduce(f64::min));
				assert!(logs[place] == *log || log.is_null() && logs[place].as_f64() < least, "{place}: {}", logs[place]);
			}
		}
		assert_eq!(answer["usage"]["completion_tokens"], json!(most * answer["choices"].as_array().unwrap().len()));
	}
	let (status, _) = client.post(COMPLETIONS, r#"{"model": "tiny", "prompt": "fn", "max_tokens": 0}"#).await;
	assert_eq!(status, "400");
	// 12,500 bytes, the token that begins a text, 21 probabilities and 16 answers are more than 2^22.
	let many =
		json!({ "model": "tiny", "prompt": "x".repeat(12_500), "max_tokens": 0, "logprobs": 20, "echo": true, "n": 16, "temperature": 1 });
	let (status, answer) = client.post(COMPLETIONS, &many.to_string()).await;
	assert_eq!((status.as_str(), &answer["error"]["param"]), ("400", &json!("prompt")), "{answer}");
	assert!(answer["error"]["message"].as_str().unwrap().contains("send fewer"), "{answer}");
	server.end().await;
}

/// An adapter of numbers of no meaning.
fn adapted(name: &str, seed: usize) -> Adapted {
	let config = Running::config();
	let adapter = Adapter { base: [0; 32], rank: 4, alpha: F32::new(16.0), projections: Projections::ALL };
	let len = ParamLayout::of(&config, Some(adapter)).unwrap().len();
	let params: Vec<f32> = (0..len).map(|at| (at * (7_919 + seed) % 1_013) as f32 / 1_013.0 - 0.5).collect();
	let packed = PackedAdapter::new(&Exec::new(1).unwrap(), &config, &adapter, &params).unwrap();
	Adapted { name: name.into(), root: H256([u8::try_from(seed).unwrap(); 32]), packed: Arc::new(packed) }
}

/// What each answers is what it answers alone, whatever others were asked before: what was read beside one adapter is not taken for another.
#[tokio::test]
async fn adapters_are_chosen_by_name_and_each_answers_as_if_it_were_alone() {
	let both = || vec![adapted("one", 1), adapted("other", 2)];
	let names = ["tiny", "one", "other"];
	let prompt = "fn main ".repeat(40);
	let ask = |name: &str| {
		json!({ "model": name, "prompt": prompt, "max_tokens": 20, "temperature": 0, "seed": 1, "receipt": true, "ignore_eos": true })
			.to_string()
	};
	let mut alone = Vec::new();
	for name in names {
		let adapters = both().into_iter().filter(|adapter| adapter.name == name).collect();
		let server = Running::beside(bounds(), Vec::new(), None, adapters);
		alone.push(server.client().await.post(COMPLETIONS, &ask(name)).await.1);
		server.end().await;
	}
	let server = Running::beside(bounds(), Vec::new(), None, both());
	let mut client = server.client().await;
	for _ in 0..2 {
		for (name, alone) in names.iter().zip(&alone) {
			let (status, answer) = client.post(COMPLETIONS, &ask(name)).await;
			assert_eq!((status.as_str(), &answer["model"]), ("200", &json!(name)));
			for field in ["choices", "system_fingerprint"] {
				assert_eq!(answer[field], alone[field], "{name}");
			}
			let receipt = answer["choices"][0]["receipt"].to_string();
			assert_eq!(client.post("/v1/check", &receipt).await.1, json!({ "equal": true }), "{name}");
		}
	}
	let texts: std::collections::BTreeSet<_> = alone.iter().map(|answer| answer["choices"][0]["text"].to_string()).collect();
	assert_eq!(texts.len(), 3, "{texts:?}");
	let (_, listed) = client.get("/v1/models").await;
	let listed: Vec<_> = listed["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect();
	assert_eq!(listed, names);
	let embedding = |name: &str| json!({ "model": name, "input": "fn" }).to_string();
	let embeddings = [client.post(EMBEDDINGS, &embedding("tiny")).await.1, client.post(EMBEDDINGS, &embedding("one")).await.1];
	assert_ne!(embeddings[0]["data"], embeddings[1]["data"]);
	let (status, answer) = client.post(COMPLETIONS, &ask("third")).await;
	assert_eq!(status, "404");
	assert!(answer["error"]["message"].as_str().unwrap().contains(r#""tiny", "one", "other""#), "{answer}");
	server.end().await;
}
