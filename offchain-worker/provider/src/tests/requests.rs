//! Requests, and errors as clients of the OpenAI API read them.

use super::*;

impl Client {
	/// Posts this to an address of the API, and takes an answer.
	async fn post(&mut self, path: &str, body: &str) -> (String, Value) {
		let head =
			format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
		let (head, body) = self.ask(head + body).await;
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
