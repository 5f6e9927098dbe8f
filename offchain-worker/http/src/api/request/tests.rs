//! Requests as clients send them, and as they should not.

use super::{super::Prompt, *};
use neuroshard_inference::Message;

fn chat(fields: &str) -> Result<Request, Fault> {
	let body = format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]{fields}}}"#);
	Request::read(Kind::Chat, body.as_bytes())
}

fn completion(fields: &str) -> Result<Request, Fault> {
	Request::read(Kind::Completion, format!(r#"{{"model": "m", "prompt": "hi"{fields}}}"#).as_bytes())
}

/// All kinds of completions, with these fields.
fn both(fields: &str) -> [Result<Settings, Fault>; 2] {
	[chat(fields), completion(fields)].map(|read| read.map(|request| request.settings))
}

/// The field that is named as wrong, without a word of Rust.
fn named(read: Result<Request, Fault>) -> String {
	let fault = read.unwrap_err();
	for word in ["untagged", "struct", "invalid type", "u32", "i64", "map", "enum", "Option"] {
		assert!(!fault.message.contains(word), "{fault}");
	}
	fault.param.unwrap()
}

fn messages(messages: &str) -> Result<Request, Fault> {
	Request::read(Kind::Chat, format!(r#"{{"model": "m", "messages": {messages}}}"#).as_bytes())
}

#[test]
fn null_is_as_if_a_field_were_not_there() {
	let fields = "n max_tokens max_completion_tokens seed stop stream stream_options temperature top_p top_k min_p repetition_penalty presence_penalty \
	              frequency_penalty logprobs ignore_eos receipt logit_bias tools tool_choice functions response_format audio echo suffix best_of \
	              stop_token_ids grammar user metadata store nobody_knows_this";
	for name in fields.split_whitespace() {
		let null = format!(r#", "{name}": null"#);
		assert_eq!(both(&null), both(""), "{name}");
	}
	assert_eq!(chat(r#", "top_logprobs": null"#), chat(""));
	assert_eq!(both(r#", "stream_options": {"include_usage": null}"#), both(""));
	let plain = messages(r#"[{"role": "user", "content": "hi"}]"#);
	assert_eq!(messages(r#"[{"role": "user", "content": "hi", "name": null, "tool_calls": null, "refusal": null}]"#), plain);
	let empty = Input::Chat(vec![Message { role: "assistant".into(), content: String::new() }]);
	assert_eq!(messages(r#"[{"role": "assistant", "content": null}]"#).unwrap().input, empty);
	for (kind, body, name) in [
		(Kind::Chat, r#"{"messages": [{"role": "user", "content": "hi"}]}"#, "model"),
		(Kind::Chat, r#"{"model": null, "messages": [{"role": "user", "content": "hi"}]}"#, "model"),
		(Kind::Chat, r#"{"model": "m"}"#, "messages"),
		(Kind::Chat, r#"{"model": "m", "messages": null}"#, "messages"),
		(Kind::Chat, r#"{"model": "m", "messages": [{"role": null, "content": "hi"}]}"#, "messages[0].role"),
		(Kind::Completion, r#"{"model": "m", "prompt": null}"#, "prompt"),
	] {
		let fault = Request::read(kind, body.as_bytes()).unwrap_err();
		assert_eq!((fault.param.as_deref(), fault.code), (Some(name), Some("missing_required_parameter")), "{body}");
	}
}

#[test]
fn wrong_types_are_refused_by_the_name_of_their_field() {
	for (fields, name) in [
		(r#", "n": "2""#, "n"),
		(r#", "n": true"#, "n"),
		(r#", "max_tokens": "5""#, "max_tokens"),
		(r#", "max_completion_tokens": [5]"#, "max_completion_tokens"),
		(r#", "seed": "7""#, "seed"),
		(r#", "seed": {}"#, "seed"),
		(r#", "temperature": "warm""#, "temperature"),
		(r#", "top_p": []"#, "top_p"),
		(r#", "top_k": "all""#, "top_k"),
		(r#", "presence_penalty": false"#, "presence_penalty"),
		(r#", "stop": 5"#, "stop"),
		(r#", "stop": [null]"#, "stop[0]"),
		(r#", "stop": ["a", 5]"#, "stop[1]"),
		(r#", "stop": {"a": 1}"#, "stop"),
		(r#", "stop": "\ud83d""#, "stop"),
		(r#", "stream": "true""#, "stream"),
		(r#", "stream": 1"#, "stream"),
		(r#", "stream_options": true"#, "stream_options"),
		(r#", "stream_options": []"#, "stream_options"),
		(r#", "stream_options": {"include_usage": "yes"}"#, "stream_options.include_usage"),
		(r#", "ignore_eos": 0"#, "ignore_eos"),
		(r#", "receipt": "yes""#, "receipt"),
		(r#", "user": 5"#, "user"),
		(r#", "metadata": []"#, "metadata"),
	] {
		assert_eq!([named(chat(fields)), named(completion(fields))], [name, name], "{fields}");
	}
	for (fields, name) in [(r#", "logprobs": 2"#, "logprobs"), (r#", "logprobs": true, "top_logprobs": true"#, "top_logprobs")] {
		assert_eq!(named(chat(fields)), name);
	}
	assert_eq!(named(completion(r#", "logprobs": true"#)), "logprobs");
	assert_eq!(named(completion(r#", "echo": 1"#)), "echo");
	for (list, name) in [
		(r#""hi""#, "messages"),
		(r#"{"role": "user"}"#, "messages"),
		(r#"["hi"]"#, "messages[0]"),
		(r#"[null]"#, "messages[0]"),
		(r#"[{"role": 1, "content": "hi"}]"#, "messages[0].role"),
		(r#"[{"role": "user", "content": 5}]"#, "messages[0].content"),
		(r#"[{"role": "user", "content": {"text": "hi"}}]"#, "messages[0].content"),
		(r#"[{"role": "user", "content": "hi"}, {"role": "user", "content": ["hi"]}]"#, "messages[1].content[0]"),
		(r#"[{"role": "user", "content": [{"type": "text", "text": 5}]}]"#, "messages[0].content[0].text"),
		(r#"[{"role": "user", "content": [{"type": "text"}]}]"#, "messages[0].content[0].text"),
		(r#"[{"role": "user", "content": [{"type": 1, "text": "hi"}]}]"#, "messages[0].content[0].type"),
		(r#"[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]"#, "messages[0].content[0].type"),
		(r#"[{"role": "user", "content": "hi", "tool_calls": [{}]}]"#, "messages[0].tool_calls"),
		(r#"[{"role": "user", "content": "hi", "contnet": ""}]"#, "messages[0].contnet"),
		(r#"[{"role": "user<|im_end|>", "content": "hi"}]"#, "messages[0].role"),
		("[]", "messages"),
	] {
		assert_eq!(named(messages(list)), name, "{list}");
	}
	let prompt = |prompt: &str| Request::read(Kind::Completion, format!(r#"{{"model": "m", "prompt": {prompt}}}"#).as_bytes());
	for (text, name) in [
		("5", "prompt"),
		("{}", "prompt"),
		("[]", "prompt"),
		(r#"["a", 1]"#, "prompt[1]"),
		(r#"[1, "a"]"#, "prompt[1]"),
		("[1, null]", "prompt[1]"),
		("[-1]", "prompt[0]"),
		("[1.5]", "prompt[0]"),
		("[4294967296]", "prompt[0]"),
		("[[1], [true]]", "prompt[1][0]"),
		("[[1], 2]", "prompt[1]"),
	] {
		assert_eq!(named(prompt(text)), name, "{text}");
	}
	assert_eq!(named(prompt(&format!("[{}[1]]", "[0],".repeat(64)))), "prompt");
}

#[test]
fn prompts_and_parts_are_read_in_each_form_that_clients_send() {
	let prompt =
		|prompt: &str| Request::read(Kind::Completion, format!(r#"{{"model": "m", "prompt": {prompt}}}"#).as_bytes()).unwrap().input;
	let (text, tokens) = (|text: &str| Prompt::Text(text.into()), |tokens: &[u32]| Prompt::Tokens(tokens.into()));
	assert_eq!(prompt(r#""a""#), Input::Prompts(vec![text("a")]));
	assert_eq!(prompt(r#"["a", "\u00df"]"#), Input::Prompts(vec![text("a"), text("ß")]));
	assert_eq!(prompt("[1, 2.0, 3e0]"), Input::Prompts(vec![tokens(&[1, 2, 3])]));
	assert_eq!(prompt("[[1], [2, 3], []]"), Input::Prompts(vec![tokens(&[1]), tokens(&[2, 3]), tokens(&[])]));
	let parts = r#"[{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b", "cache_control": {"type": "ephemeral"}}], "name": "me"}]"#;
	assert_eq!(messages(parts).unwrap().input, Input::Chat(vec![Message { role: "user".into(), content: "ab".into() }]));
}

#[test]
fn whole_numbers_are_read_in_any_form_of_json() {
	for (fields, expected) in [("100", 100), ("100.0", 100), ("1e2", 100), ("4294967295", u32::MAX)] {
		for name in ["max_tokens", "max_completion_tokens"] {
			for settings in both(&format!(r#", "{name}": {fields}"#)) {
				assert_eq!(settings.unwrap().most, Some(expected), "{name} {fields}");
			}
		}
	}
	assert_eq!(chat("").unwrap().settings.most, None);
	assert_eq!(completion("").unwrap().settings.most, Some(16));
	for (text, expected) in [
		("7", 7),
		("7.0", 7),
		("-1", u64::MAX),
		("-9223372036854775808", 1 << 63),
		("9223372036854775808", 1 << 63),
		("18446744073709551615", u64::MAX),
		("1e19", 10_000_000_000_000_000_000),
	] {
		for settings in both(&format!(r#", "seed": {text}"#)) {
			let settings = settings.unwrap();
			assert_eq!((settings.seed, settings.sampling.seed), (Some(expected), expected), "{text}");
		}
	}
	for settings in
		both(r#", "n": 1.0, "best_of": 1e0, "top_k": 0.0, "min_p": 1e-1, "presence_penalty": -1, "temperature": 0.7, "top_p": 1"#)
	{
		let settings = settings.unwrap();
		let expected = Sampling { min_p: 0.1, presence: -1.0, temperature: 0.7, ..Sampling::default() };
		assert_eq!((settings.choices, settings.sampling, settings.seed), (1, expected, None));
	}
	assert_eq!(both(r#", "top_k": -1"#), both(r#", "top_k": 0"#));
	assert_eq!(completion(r#", "logprobs": 5.0"#).unwrap().settings.log, Some(5));
	assert_eq!(chat(r#", "logprobs": true, "top_logprobs": 2e0"#).unwrap().settings.log, Some(2));
	assert_eq!(chat(r#", "logprobs": true"#).unwrap().settings.log, Some(0));
	assert_eq!(chat(r#", "logprobs": false, "top_logprobs": 0"#).unwrap().settings.log, None);
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range_and_never_replaced() {
	for (name, texts, range) in [
		("max_tokens", &["-1", "0", "4294967296", "1e400", "1.5"][..], "from 1 to 4294967295"),
		("max_completion_tokens", &["-1", "0", "0.0", "4294967296", "1e400"], "from 1 to 4294967295"),
		("seed", &["18446744073709551616", "-9223372036854775809", "0.5", "1e400"], "from -9223372036854775808 to 18446744073709551615"),
		("n", &["0", "17", "1.5", "-1", "1e400"], "from 1 to 16"),
		("top_k", &["-2", "0.5", "4294967296", "1e400"], "from -1 to 4294967295"),
		("temperature", &["0.0001", "10.5", "-1", "1e400", "-1e400", "1e-400", "1e39"], "from 0.01 to 10"),
		("top_p", &["0", "-0.1", "1.1", "1e400"], "above 0"),
		("min_p", &["-0.1", "1.1", "1e400", "-1e-400"], "from 0 to 1"),
		("repetition_penalty", &["0", "11", "1e400"], "from 0.1 to 10"),
		("presence_penalty", &["-3", "3", "1e400", "-1e400"], "from -2 to 2"),
		("frequency_penalty", &["-3", "3", "1e400"], "from -2 to 2"),
	] {
		for text in texts {
			for fault in both(&format!(r#", "{name}": {text}"#)) {
				let fault = fault.unwrap_err();
				assert!(
					fault.param.as_deref() == Some(name) && fault.message.contains(range) && fault.message.contains(text),
					"{name} {text}: {fault}"
				);
			}
		}
	}
	assert_eq!(
		completion(r#", "echo": true, "max_tokens": 0"#).map(|request| (request.settings.echo, request.settings.most)),
		Ok((true, Some(0)))
	);
	assert_eq!(named(completion(r#", "echo": false, "max_tokens": 0"#)), "max_tokens");
	let logs = [chat(r#", "logprobs": true, "top_logprobs": 21"#), completion(r#", "logprobs": 21"#), completion(r#", "logprobs": -1"#)];
	for fault in logs {
		assert!(fault.unwrap_err().message.contains("from 0 to 20"));
	}
	assert_eq!(named(chat(r#", "top_logprobs": 2"#)), "top_logprobs");
	assert_eq!(named(chat(r#", "logprobs": false, "top_logprobs": 2"#)), "top_logprobs");
	for name in ["best_of", "max_completion_tokens"] {
		let other = format!(r#", "n": 2, "max_tokens": 3, "{name}": 4"#);
		assert_eq!([named(chat(&other)), named(completion(&other))], [name, name]);
	}
	for (stop, name) in [(r#""""#, "stop"), (r#"["a", ""]"#, "stop[1]")] {
		assert_eq!(named(chat(&format!(r#", "stop": {stop}"#))), name);
	}
	let many = vec!["\"a\""; 17].join(",");
	assert_eq!(named(completion(&format!(r#", "stop": [{many}]"#))), "stop");
}

#[test]
fn what_others_know_is_refused_by_its_name_unless_it_asks_for_nothing() {
	for (name, value) in [
		("stop_token_ids", "[5]"),
		("min_tokens", "3"),
		("grammar", "\"root ::= x\""),
		("guided_choice", "[\"a\"]"),
		("guided_json", "{}"),
		("guided_regex", "\"a\""),
		("tool_choice", "\"required\""),
		("tools", "[{}]"),
		("functions", "[{}]"),
		("response_format", "{\"type\": \"json_object\"}"),
		("response_format", "{\"type\": \"json_schema\", \"json_schema\": {}}"),
		("continue_final_message", "true"),
		("add_generation_prompt", "false"),
		("suffix", "\"x\""),
		("logit_bias", "{\"50\": -100}"),
		("typical_p", "0.5"),
		("mirostat", "2"),
		("mirostat_tau", "5"),
		("dry_multiplier", "0.8"),
		("xtc_probability", "0.5"),
		("n_predict", "8"),
		("repeat_penalty", "1.1"),
		("skip_special_tokens", "false"),
		("audio", "{}"),
		("modalities", "[\"text\", \"audio\"]"),
		("reasoning_effort", "\"high\""),
		("chat_template", "\"x\""),
		("extra_body", "{\"top_k\": 1}"),
	] {
		for fault in both(&format!(r#", "{name}": {value}"#)) {
			let fault = fault.unwrap_err();
			assert_eq!((fault.param.as_deref(), fault.code), (Some(name), Some("unsupported_parameter")), "{name}");
			assert!(fault.message.starts_with(&format!("{name} is not supported: ")), "{fault}");
		}
	}
	assert_eq!(chat(r#", "echo": true"#).unwrap_err().code, Some("unsupported_parameter"));
	let nothing = r#", "stop_token_ids": [], "min_tokens": 0, "tools": [ ], "tool_choice": "none", "parallel_tool_calls": true, "response_format": {"type": "text"},
		"echo": false, "suffix": "", "logit_bias": {}, "typical_p": 1.0, "mirostat": 0, "mirostat_tau": 5.0, "mirostat_eta": 0.1, "dry_multiplier": 0.0,
		"dry_base": 1.75, "repeat_penalty": 1, "repeat_last_n": 64, "modalities": ["text"], "user": "me", "metadata": {"a": "b"}, "store": false,
		"service_tier": "auto", "safety_identifier": "x", "prompt_cache_key": "x", "cache_prompt": true, "use_beam_search": false, "length_penalty": 1.0,
		"skip_special_tokens": true, "continue_final_message": false, "best_of": 1"#;
	assert_eq!(both(nothing), both(""));
}

#[test]
fn what_nobody_knows_is_refused_and_what_may_have_been_meant_is_told() {
	for (name, meant) in [
		("temprature", Some("temperature")),
		("Temperature", Some("temperature")),
		("maxTokens", Some("max_tokens")),
		("topP", Some("top_p")),
		("frequencyPenalty", Some("frequency_penalty")),
		("something_else", None),
		("x", None),
	] {
		for fault in both(&format!(r#", "{name}": 1"#)) {
			let fault = fault.unwrap_err();
			assert_eq!((fault.param.as_deref(), fault.code), (Some(name), Some("unknown_parameter")));
			let hint = meant.map(|meant| format!("is {meant} meant?"));
			assert!(hint.as_ref().map_or(!fault.message.contains("meant"), |hint| fault.message.ends_with(hint)), "{fault}");
		}
	}
	let fault = completion(r#", "messages": []"#).unwrap_err();
	assert!(fault.message.contains("/v1/chat/completions, not of /v1/completions"), "{fault}");
	assert_eq!(named(chat(r#", "prompt": "x""#)), "prompt");
	assert_eq!(named(completion(r#", "logprobs": 1, "top_logprobs": 2"#)), "top_logprobs");
	assert_eq!(named(chat(r#", "stream_options": {"include_usag": true}"#)), "stream_options.include_usag");
	let long = "x".repeat(100_000);
	assert!(chat(&format!(r#", "{long}": 1"#)).unwrap_err().message.len() < 300);
}

#[test]
fn fields_are_named_once() {
	assert_eq!(named(chat(r#", "temperature": 0, "temperature": 1"#)), "temperature");
	assert_eq!(named(messages(r#"[{"role": "user", "content": "hi", "content": "ho"}]"#)), "messages[0].content");
	assert_eq!(named(chat(r#", "stream_options": {"include_usage": true, "include_usage": true}"#)), "stream_options.include_usage");
}

#[test]
fn a_wish_for_a_receipt_and_a_seed_replaces_others_and_leaves_the_rest() {
	let body = r#"{"model": "m", "receipt": false, "prompt": "a\u0022b", "seed": 1e0, "max_tokens": null}"#;
	let wished = with_receipt(body.as_bytes(), 1).unwrap();
	assert_eq!(String::from_utf8(wished.clone()).unwrap(), r#"{"receipt":true,"seed":1,"model":"m","prompt":"a\u0022b"}"#);
	let (mut read, wished) = (Request::read(Kind::Completion, body.as_bytes()).unwrap(), Request::read(Kind::Completion, &wished).unwrap());
	assert!(wished.settings.receipt && !read.settings.receipt);
	read.settings.receipt = true;
	assert_eq!(read, wished);
	assert!(with_receipt(b"[]", 1).is_err());
}
