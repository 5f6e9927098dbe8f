//! Fields that requests may have: what is read here, what has no effect on an answer, what others know and this server does not: the last is refused by
//! name with a reason, unless its value asks for nothing. What nobody knows is refused, too, since it may be a slip of the pen.

use super::{
	fault::{short, Fault},
	json::{Members, Path, Type},
	Kind,
};
use serde_json::value::RawValue;

/// Names that are told as what was meant are so near, in letters to change.
const NEAR: usize = 2;

/// Fields of one kind of object.
pub(super) struct Table {
	/// Name of the kind of object.
	of: &'static str,
	/// Those that are read.
	read: &'static [&'static str],
	/// Those that change no answer, and of which type they are.
	free: &'static [(&'static str, Type)],
	/// Those that others know.
	refused: &'static [Refused],
}

/// Fields that are refused for one reason.
struct Refused {
	why: &'static str,
	fields: &'static [(&'static str, Neutral)],
}

/// The value of a field that asks for nothing.
#[derive(Clone, Copy)]
enum Neutral {
	/// There is none, but null.
	Never,
	/// This one of true and false.
	Flag(bool),
	/// An empty string, list or object.
	Empty,
	/// This number.
	Number(f32),
	/// One of these strings.
	Word(&'static [&'static str]),
	/// A list of this string alone.
	Only(&'static str),
	/// An object in which `type` is this string.
	Typed(&'static str),
	/// Any, beside a neutral one of this field, without which it has no effect.
	Beside(&'static str),
}

use Neutral::{Beside, Empty, Flag, Never, Number, Only, Typed, Word};

impl Neutral {
	fn is(self, raw: &RawValue) -> bool {
		let text = raw.get();
		let word = || serde_json::from_str::<String>(text).ok();
		match self {
			Never => false,
			Flag(flag) => text == if flag { "true" } else { "false" },
			Empty => text.starts_with(['"', '[', '{']) && text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() == 2,
			Number(number) => text.parse() == Ok(number),
			Word(words) => word().is_some_and(|word| words.contains(&word.as_str())),
			Only(name) => serde_json::from_str::<[String; 1]>(text).is_ok_and(|[only]| only == name),
			Typed(name) => {
				let kind = serde_json::from_str::<Members>(text).ok().and_then(|members| members.get("type")?.text("").ok());
				kind.is_some_and(|kind| kind == name)
			}
			Beside(_) => true,
		}
	}
}

impl Table {
	/// Checks that an object at this place has no other fields than it may have.
	///
	/// # Errors
	/// [`Fault`] names the first one.
	pub(super) fn check(&self, members: &Members, at: Option<&Path>) -> Result<(), Fault> {
		for (name, raw) in members.iter() {
			self.field(name, raw, members, at)?;
		}
		Ok(())
	}

	fn field(&self, name: &str, raw: &RawValue, beside: &Members, at: Option<&Path>) -> Result<(), Fault> {
		if self.read.contains(&name) {
			return Ok(());
		}
		let path = at.map_or(Path::Field(name), |at| Path::Member(at, name));
		if let Some((_, kind)) = self.free.iter().find(|(free, _)| *free == name) {
			let entry = beside.get(name).filter(|entry| entry.kind() != *kind);
			return entry.map_or(Ok(()), |entry| Err(Fault { param: Some(short(&path.to_string())), ..entry.wrong(kind.name()) }));
		}
		for Refused { why, fields } in self.refused {
			let Some((_, neutral)) = fields.iter().find(|(refused, _)| *refused == name) else { continue };
			let is_neutral = match neutral {
				Beside(other) => beside.get(other).is_some(),
				neutral => neutral.is(raw),
			};
			return if is_neutral { Ok(()) } else { Err(Fault::unsupported(path, why)) };
		}
		let meant = self.nearest(name).map(|meant| format!(": is {meant} meant?")).unwrap_or_default();
		let words = format!("{} is not known here as a field of {}{meant}", short(&path.to_string()), self.of);
		Err(Fault::field(path, "unknown_parameter", words))
	}

	/// The field whose name is most like this one, if one is.
	fn nearest(&self, name: &str) -> Option<&'static str> {
		let plain =
			|name: &str| name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect::<String>();
		let given = plain(&short(name));
		let known = self.read.iter().copied().chain(self.free.iter().map(|(name, _)| *name));
		let near = known.map(|known| (strsim::damerau_levenshtein(&given, &plain(known)), known));
		near.filter(|(distance, known)| *distance <= NEAR && distance.saturating_mul(2) < known.len()).min().map(|(_, known)| known)
	}
}

/// Checks that a request has no other fields than it may have.
///
/// # Errors
/// [`Fault`] names the first one.
pub(super) fn check(kind: Kind, members: &Members) -> Result<(), Fault> {
	let tables = [(Kind::Completion, COMPLETION), (Kind::Chat, CHAT), (Kind::Embedding, EMBEDDING)];
	for (own, table) in &tables {
		if *own != kind {
			continue;
		}
		for (name, raw) in members.iter() {
			let elsewhere = || tables.iter().find(|(other, table)| *other != kind && table.read.contains(&name));
			table.field(name, raw, members, None).map_err(|fault| match (fault.code, elsewhere()) {
				(Some("unknown_parameter"), Some((other, _))) => {
					Fault::field(name, "unknown_parameter", format!("{name} is a field of {}, not of {}", other.path(), kind.path()))
				}
				_ => fault,
			})?;
		}
	}
	Ok(())
}

const COMPLETION: Table = Table {
	of: "/v1/completions",
	read: &[
		"best_of",
		"echo",
		"frequency_penalty",
		"ignore_eos",
		"logprobs",
		"max_completion_tokens",
		"max_tokens",
		"min_p",
		"model",
		"n",
		"presence_penalty",
		"prompt",
		"receipt",
		"repetition_penalty",
		"seed",
		"stop",
		"stream",
		"stream_options",
		"temperature",
		"top_k",
		"top_p",
	],
	free: FREE,
	refused: REFUSED,
};

const CHAT: Table = Table {
	of: "/v1/chat/completions",
	read: &[
		"best_of",
		"frequency_penalty",
		"ignore_eos",
		"logprobs",
		"max_completion_tokens",
		"max_tokens",
		"messages",
		"min_p",
		"model",
		"n",
		"presence_penalty",
		"receipt",
		"repetition_penalty",
		"seed",
		"stop",
		"stream",
		"stream_options",
		"temperature",
		"top_k",
		"top_logprobs",
		"top_p",
	],
	free: FREE,
	refused: REFUSED,
};

const EMBEDDING: Table = Table {
	of: "/v1/embeddings",
	read: &["encoding_format", "input", "model"],
	free: &[("metadata", Type::Object), ("request_id", Type::Text), ("user", Type::Text)],
	refused: &[
		Refused { why: "vectors have the length that the model has", fields: &[("dimensions", Never)] },
		Refused {
			why: "texts are read whole, or refused",
			fields: &[("truncate", Flag(false)), ("truncate_prompt_tokens", Never), ("truncation", Never)],
		},
		Refused {
			why: "all texts are read alike, as the tokenizer reads prompts",
			fields: &[
				("add_special_tokens", Flag(true)),
				("input_type", Never),
				("instruction", Empty),
				("prompt_name", Never),
				("task", Never),
				("embd_normalize", Number(2.0)),
				("normalize", Flag(true)),
			],
		},
		Refused { why: "its fields belong into the request itself", fields: &[("extra_body", Empty), ("options", Empty)] },
	],
};

/// Options of a stream.
pub(super) const STREAM_OPTIONS: Table = Table {
	of: "stream_options",
	read: &["include_usage"],
	free: &[],
	refused: &[
		Refused { why: "usage is told once, at the end", fields: &[("continuous_usage_stats", Flag(false))] },
		Refused { why: "pieces are told as they are", fields: &[("include_obfuscation", Flag(false))] },
	],
};

/// A message of a chat.
pub(super) const MESSAGE: Table = Table {
	of: "a message",
	read: &["content", "role"],
	free: &[("cache_control", Type::Object), ("name", Type::Text)],
	refused: &[
		Refused { why: TOOLS, fields: &[("tool_calls", Empty), ("function_call", Empty), ("tool_call_id", Empty)] },
		Refused { why: TEXT, fields: &[("audio", Empty), ("images", Empty), ("image", Empty), ("videos", Empty), ("files", Empty)] },
		Refused {
			why: "templates are given roles and contents alone: write it into content",
			fields: &[
				("refusal", Empty),
				("annotations", Empty),
				("reasoning", Empty),
				("reasoning_content", Empty),
				("reasoning_details", Empty),
				("thinking", Empty),
				("thinking_blocks", Empty),
			],
		},
		Refused { why: CONTINUED, fields: &[("prefix", Flag(false)), ("partial", Flag(false))] },
		Refused { why: "this server does not train", fields: &[("weight", Number(1.0))] },
	],
};

/// A part of a message.
pub(super) const PART: Table = Table {
	of: "a part of text",
	read: &["text", "type"],
	free: &[("cache_control", Type::Object)],
	refused: &[Refused { why: "only text is read", fields: &[("annotations", Empty), ("logprobs", Empty)] }],
};

/// They are for accounts, caches and logs of other servers.
const FREE: &[(&str, Type)] = &[
	("cache_prompt", Type::Flag),
	("metadata", Type::Object),
	("parallel_tool_calls", Type::Flag),
	("prediction", Type::Object),
	("prompt_cache_key", Type::Text),
	("prompt_cache_retention", Type::Text),
	("request_id", Type::Text),
	("safety_identifier", Type::Text),
	("service_tier", Type::Text),
	("store", Type::Flag),
	("user", Type::Text),
];

const TOOLS: &str = "this server calls no tools";
const TEXT: &str = "this server reads and writes text alone";
const FORMAT: &str = "answers have no format but text: the model chooses each token freely";
const CONTINUED: &str = "the assistant begins a message of its own; /v1/completions continues a text";
const STOPPING: &str = "answers end at the tokens that end the model's texts, and at the strings of stop";
const SAMPLER: &str = "tokens are chosen by temperature, top_k, top_p, min_p and the three penalties alone";
const LENGTH: &str = "name the most tokens of an answer with max_tokens";
const PENALTY: &str = "the penalty for repetition is repetition_penalty";
const TEMPLATE: &str = "chats are written by the model's own template, without options";
const CUT: &str = "prompts are read whole, or refused if they are too long";
const REPEATED: &str = "an answer tells its own text and tokens alone";
const THINKING: &str = "the model has no switch for reasoning here";
const STATES: &str = "each request stands for itself: send all messages with it";
const SLOTS: &str = "the server itself decides where and when an answer is computed";
const INSIDE: &str = "its fields belong into the request itself";

const REFUSED: &[Refused] = &[
	Refused {
		why: TOOLS,
		fields: &[
			("tools", Empty),
			("tool_choice", Word(&["none", "auto"])),
			("functions", Empty),
			("function_call", Word(&["none", "auto"])),
			("max_tool_calls", Never),
			("tool_prompt", Empty),
			("tool_stream", Flag(false)),
			("parse_tool_calls", Flag(false)),
			("web_search_options", Never),
			("search_parameters", Never),
			("search_settings", Never),
			("enable_search", Flag(false)),
			("plugins", Empty),
			("data_sources", Empty),
			("documents", Empty),
			("citation_options", Never),
		],
	},
	Refused {
		why: TEXT,
		fields: &[
			("audio", Never),
			("modalities", Only("text")),
			("image_data", Empty),
			("images", Empty),
			("mm_processor_kwargs", Empty),
			("media_io_kwargs", Empty),
			("prompt_embeds", Never),
			("input_embeds", Never),
		],
	},
	Refused {
		why: FORMAT,
		fields: &[
			("response_format", Typed("text")),
			("format", Empty),
			("json_schema", Empty),
			("grammar", Empty),
			("grammar_lazy", Flag(false)),
			("grammar_triggers", Empty),
			("guided_json", Never),
			("guided_regex", Never),
			("guided_choice", Never),
			("guided_grammar", Never),
			("guided_json_object", Flag(false)),
			("guided_decoding_backend", Never),
			("guided_whitespace_pattern", Never),
			("structured_outputs", Empty),
			("structural_tag", Never),
			("regex", Never),
			("ebnf", Never),
			("grammar_string", Empty),
			("json_mode", Flag(false)),
			("text", Never),
			("verbosity", Word(&["medium"])),
		],
	},
	Refused {
		why: "no token is made likelier or forbidden",
		fields: &[
			("logit_bias", Empty),
			("allowed_token_ids", Empty),
			("bad_words", Empty),
			("banned_tokens", Empty),
			("banned_strings", Empty),
			("custom_token_bans", Empty),
			("logits_processors", Empty),
			("custom_logit_processor", Never),
			("custom_params", Never),
			("watermark", Flag(false)),
		],
	},
	Refused {
		why: STOPPING,
		fields: &[
			("stop_token_ids", Empty),
			("stop_sequences", Empty),
			("stopping_strings", Empty),
			("custom_stopping_strings", Empty),
			("stop_regex", Empty),
			("include_stop_str_in_output", Flag(false)),
			("no_stop_trim", Flag(false)),
			("ban_eos_token", Flag(false)),
			("min_tokens", Number(0.0)),
			("min_new_tokens", Number(0.0)),
			("min_length", Number(0.0)),
			("n_indent", Number(0.0)),
			("t_max_predict_ms", Number(0.0)),
			("t_max_prompt_ms", Number(-1.0)),
			("repetition_detection", Never),
		],
	},
	Refused {
		why: LENGTH,
		fields: &[
			("n_predict", Never),
			("num_predict", Never),
			("max_new_tokens", Never),
			("max_output_tokens", Never),
			("max_tokens_to_sample", Never),
			("max_length", Never),
			("auto_max_new_tokens", Flag(false)),
		],
	},
	Refused {
		why: PENALTY,
		fields: &[
			("repeat_penalty", Number(1.0)),
			("rep_pen", Number(1.0)),
			("repeat_last_n", Beside("repeat_penalty")),
			("penalize_nl", Beside("repeat_penalty")),
			("penalty_prompt", Never),
			("rep_pen_range", Beside("rep_pen")),
			("rep_pen_slope", Beside("rep_pen")),
			("repetition_penalty_range", Number(0.0)),
			("encoder_repetition_penalty", Number(1.0)),
			("no_repeat_ngram_size", Number(0.0)),
		],
	},
	Refused { why: "the seed is named with seed", fields: &[("random_seed", Never), ("sampling_seed", Never), ("sampler_seed", Never)] },
	Refused {
		why: SAMPLER,
		fields: &[
			("typical_p", Number(1.0)),
			("typical", Number(1.0)),
			("tfs", Number(1.0)),
			("tfs_z", Number(1.0)),
			("top_a", Number(0.0)),
			("top_n_sigma", Number(-1.0)),
			("mirostat", Number(0.0)),
			("mirostat_mode", Number(0.0)),
			("mirostat_tau", Beside("mirostat")),
			("mirostat_eta", Beside("mirostat")),
			("mirostat_target", Never),
			("mirostat_lr", Never),
			("dry_multiplier", Number(0.0)),
			("dry_base", Beside("dry_multiplier")),
			("dry_allowed_length", Beside("dry_multiplier")),
			("dry_penalty_last_n", Beside("dry_multiplier")),
			("dry_sequence_breakers", Beside("dry_multiplier")),
			("xtc_probability", Number(0.0)),
			("xtc_threshold", Beside("xtc_probability")),
			("dynatemp_range", Number(0.0)),
			("dynatemp_exponent", Beside("dynatemp_range")),
			("dynamic_temperature", Flag(false)),
			("dynatemp_low", Beside("dynamic_temperature")),
			("dynatemp_high", Beside("dynamic_temperature")),
			("smoothing_factor", Number(0.0)),
			("smoothing_curve", Beside("smoothing_factor")),
			("epsilon_cutoff", Number(0.0)),
			("eta_cutoff", Number(0.0)),
			("adaptive_target", Number(-1.0)),
			("adaptive_decay", Beside("adaptive_target")),
			("nsigma", Number(0.0)),
			("skew", Number(0.0)),
			("min_keep", Number(0.0)),
			("samplers", Never),
			("sampler_order", Never),
			("sampler_priority", Never),
			("temperature_last", Flag(false)),
			("do_sample", Flag(true)),
			("penalty_alpha", Number(0.0)),
			("guidance_scale", Number(1.0)),
			("negative_prompt", Empty),
			("length_penalty", Number(1.0)),
			("num_beams", Number(1.0)),
			("early_stopping", Flag(false)),
			("use_beam_search", Flag(false)),
			("top_n_tokens", Number(0.0)),
			("sampling_params", Empty),
		],
	},
	Refused {
		why: TEMPLATE,
		fields: &[
			("chat_template", Never),
			("chat_template_kwargs", Empty),
			("template", Empty),
			("add_generation_prompt", Flag(true)),
			("add_special_tokens", Never),
			("add_bos_token", Never),
			("instruction_template", Never),
			("mode", Never),
			("character", Never),
			("preset", Never),
			("system", Empty),
			("system_prompt", Empty),
			("instructions", Empty),
			("raw", Flag(false)),
			("safe_prompt", Flag(false)),
			("prompt_mode", Never),
			("guideline", Empty),
		],
	},
	Refused {
		why: CONTINUED,
		fields: &[
			("continue_final_message", Flag(false)),
			("continue_", Flag(false)),
			("suffix", Empty),
			("input_prefix", Empty),
			("input_suffix", Empty),
			("input_extra", Empty),
		],
	},
	Refused {
		why: CUT,
		fields: &[
			("truncate", Never),
			("truncate_prompt_tokens", Never),
			("prompt_truncate_len", Never),
			("truncation", Word(&["disabled"])),
			("truncation_side", Never),
			("truncation_length", Never),
			("context_length_exceeded_behavior", Word(&["error"])),
			("n_keep", Number(0.0)),
			("n_discard", Number(0.0)),
			("num_ctx", Never),
			("max_context_length", Never),
			("transforms", Empty),
		],
	},
	Refused {
		why: REPEATED,
		fields: &[
			("echo", Flag(false)),
			("return_full_text", Flag(false)),
			("prompt_logprobs", Never),
			("n_probs", Number(0.0)),
			("post_sampling_probs", Flag(false)),
			("return_tokens", Flag(false)),
			("return_token_ids", Flag(false)),
			("return_tokens_as_token_ids", Flag(false)),
			("skip_special_tokens", Flag(true)),
			("spaces_between_special_tokens", Flag(true)),
			("details", Flag(false)),
			("decoder_input_details", Flag(false)),
			("return_hidden_states", Flag(false)),
			("response_fields", Empty),
			("timings_per_token", Flag(false)),
			("return_progress", Flag(false)),
			("include", Empty),
			("raw_output", Flag(false)),
			("usage", Never),
			("logprob_start_len", Never),
			("top_logprobs_num", Number(0.0)),
			("return_logprob", Flag(false)),
			("return_text_in_logprobs", Flag(false)),
		],
	},
	Refused {
		why: THINKING,
		fields: &[
			("reasoning", Never),
			("reasoning_effort", Word(&["none"])),
			("reasoning_format", Word(&["none"])),
			("reasoning_budget", Never),
			("include_reasoning", Flag(false)),
			("thinking", Never),
			("enable_thinking", Flag(false)),
			("thinking_budget", Never),
			("thinking_token_budget", Never),
			("thinking_forced_open", Flag(false)),
			("think", Flag(false)),
			("separate_reasoning", Flag(false)),
			("stream_reasoning", Flag(false)),
		],
	},
	Refused {
		why: STATES,
		fields: &[
			("previous_response_id", Never),
			("conversation", Never),
			("context", Never),
			("session_params", Never),
			("background", Flag(false)),
			("deferred", Flag(false)),
		],
	},
	Refused {
		why: SLOTS,
		fields: &[
			("id_slot", Number(-1.0)),
			("slot_id", Number(-1.0)),
			("priority", Number(0.0)),
			("n_cache_reuse", Number(0.0)),
			("n_cmpl", Never),
			("keep_alive", Never),
			("cache_salt", Never),
			("kv_transfer_params", Never),
			("vllm_xargs", Never),
			("prompt_lookup_num_tokens", Number(0.0)),
			("speculative", Never),
			("max_tokens_second", Number(0.0)),
		],
	},
	Refused {
		why: "one model is served",
		fields: &[
			("lora", Empty),
			("lora_path", Never),
			("lora_adapter", Never),
			("adapter_id", Never),
			("models", Empty),
			("route", Never),
			("provider", Never),
			("fallbacks", Empty),
			("safety_model", Never),
		],
	},
	Refused {
		why: "the text is in prompt, or in messages",
		fields: &[("input", Never), ("inputs", Never), ("input_ids", Never), ("prompt_token_ids", Never), ("text_input", Never)],
	},
	Refused {
		why: INSIDE,
		fields: &[("extra_body", Empty), ("extra_headers", Empty), ("extra_query", Empty), ("options", Empty), ("parameters", Empty)],
	},
];
