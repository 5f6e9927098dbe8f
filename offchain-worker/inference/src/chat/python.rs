//! Values as Python has them, which templates are written for: how they are shown, methods of strings, and what transformers adds to Jinja.

use super::dialect::PERCENT;
use chrono::NaiveDateTime;
use minijinja::{
	context, format_filter,
	value::{from_args, Kwargs, Rest, ValueKind},
	Environment, Error, ErrorKind, FormatStyle, State, Value,
};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::fmt::Write;

/// Most characters that a string is filled up to.
const WIDEST: usize = 1 << 16;

pub(super) fn add_to(environment: &mut Environment<'static>, clock: fn() -> NaiveDateTime) {
	environment.set_formatter(|out, _, value| out.write_str(&shown(value)).map_err(|_| invalid("the prompt cannot be written")));
	environment.set_unknown_method_callback(method);
	environment.add_function("raise_exception", |words: String| Err::<String, _>(invalid(words)));
	environment.add_function("strftime_now", move |format: String| time(&format, clock()));
	environment.add_function(PERCENT, percent);
	environment.add_filter("tojson", to_json);
	environment.add_filter(super::dialect::GENERATION, |text: String| text);
}

fn invalid(words: impl Into<std::borrow::Cow<'static, str>>) -> Error {
	Error::new(ErrorKind::InvalidOperation, words)
}

/// `str(value)`.
fn shown(value: &Value) -> String {
	match value.kind() {
		ValueKind::Undefined => String::new(),
		ValueKind::None => "None".into(),
		ValueKind::Bool if value.is_true() => "True".into(),
		ValueKind::Bool => "False".into(),
		ValueKind::Seq | ValueKind::Map => represented(value),
		_ => value.to_string(),
	}
}

/// `repr(value)`.
fn represented(value: &Value) -> String {
	let all = |values: Option<minijinja::value::ValueIter>, each: &dyn Fn(Value) -> String| {
		values.into_iter().flatten().map(each).collect::<Vec<_>>().join(", ")
	};
	match (value.kind(), value.as_str()) {
		(_, Some(text)) => quoted(text),
		(ValueKind::Seq, _) => format!("[{}]", all(value.try_iter().ok(), &|each| represented(&each))),
		(ValueKind::Map, _) => {
			let entry = |key: Value| format!("{}: {}", represented(&key), represented(&value.get_item(&key).unwrap_or_default()));
			format!("{{{}}}", all(value.try_iter().ok(), &entry))
		}
		_ => shown(value),
	}
}

fn quoted(text: &str) -> String {
	let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
	let mut quoted = String::from(quote);
	for character in text.chars() {
		match character {
			'\n' => quoted.push_str("\\n"),
			'\r' => quoted.push_str("\\r"),
			'\t' => quoted.push_str("\\t"),
			'\\' => quoted.push_str("\\\\"),
			other if other == quote => quoted.extend(['\\', other]),
			other => quoted.push(other),
		}
	}
	quoted.push(quote);
	quoted
}

/// `left % right`.
fn percent(state: &State, left: &Value, right: &Value) -> Result<Value, Error> {
	let Some(format) = left.as_str() else {
		return state.env().compile_expression("left % right")?.eval(context! { left, right });
	};
	let argument = |value: Value| match value.kind() {
		ValueKind::Bool | ValueKind::None | ValueKind::Undefined => Value::from(shown(&value)),
		_ => value,
	};
	let arguments = match right.kind() {
		// A tuple, in Python.
		ValueKind::Seq => right.try_iter()?.map(argument).collect(),
		_ => vec![argument(right.clone())],
	};
	format_filter(FormatStyle::Printf, format, &arguments).map(Value::from)
}

fn time(format: &str, now: NaiveDateTime) -> Result<String, Error> {
	let mut told = String::new();
	write!(told, "{}", now.format(format)).map_err(|_| invalid(format!("strftime_now does not know the format {format:?}")))?;
	Ok(told)
}

/// Format of JSON that is written.
struct Json {
	ascii: bool,
	sorted: bool,
	/// Indentation of each level, if each value has a line.
	indent: Option<String>,
	between: String,
	colon: String,
}

/// `json.dumps(value, ensure_ascii=False, ..)`.
fn to_json(value: &Value, arguments: Rest<Value>) -> Result<Value, Error> {
	type Places = (Option<Value>, Option<Value>, Option<Value>, Option<Value>, Kwargs);
	let (ascii, indent, separators, sorted, named): Places = from_args(&arguments)?;
	let given = |place: Option<Value>, name: &str| match place {
		Some(value) => Ok::<_, Error>(Some(value)),
		None => named.get::<Option<Value>>(name),
	};
	let [ascii, indent, separators, sorted] =
		[given(ascii, "ensure_ascii")?, given(indent, "indent")?, given(separators, "separators")?, given(sorted, "sort_keys")?];
	named.assert_all_used()?;
	let indent = match indent.filter(|indent| !indent.is_none()) {
		None => None,
		Some(indent) => Some(match indent.as_str() {
			Some(text) => text.to_owned(),
			None => " ".repeat(usize::try_from(indent)?.min(WIDEST)),
		}),
	};
	let (mut between, mut colon) = (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned());
	if let Some(given) = separators.filter(|given| !given.is_none()) {
		let mut given = given.try_iter()?.map(|separator| shown(&separator));
		(between, colon) = given.next().zip(given.next()).ok_or_else(|| invalid("separators must be two strings"))?;
	}
	let is = |value: Option<Value>| value.is_some_and(|value| value.is_true());
	let style = Json { ascii: is(ascii), sorted: is(sorted), indent, between, colon };
	let mut written = String::new();
	style.write(value, 0, &mut written)?;
	Ok(Value::from(written))
}

impl Json {
	fn write(&self, value: &Value, level: usize, out: &mut String) -> Result<(), Error> {
		match value.kind() {
			ValueKind::None => out.push_str("null"),
			ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
			ValueKind::Number => out.push_str(&value.to_string()),
			ValueKind::String => self.string(value.as_str().unwrap_or_default(), out),
			ValueKind::Seq | ValueKind::Iterable => {
				let values = value.try_iter()?.map(|value| (None, value)).collect();
				self.list(["[", "]"], values, level, out)?;
			}
			ValueKind::Map => {
				let mut entries = Vec::new();
				for key in value.try_iter()? {
					let name = key.as_str().map_or_else(|| shown(&key), str::to_owned);
					entries.push((Some(name), value.get_item(&key)?));
				}
				if self.sorted {
					entries.sort_by(|(first, _), (second, _)| first.cmp(second));
				}
				self.list(["{", "}"], entries, level, out)?;
			}
			kind => return Err(invalid(format!("{kind} cannot be written as JSON"))),
		}
		Ok(())
	}

	fn list(&self, [open, close]: [&str; 2], entries: Vec<(Option<String>, Value)>, level: usize, out: &mut String) -> Result<(), Error> {
		let line = |level: usize, out: &mut String| {
			if let Some(indent) = &self.indent {
				out.push('\n');
				out.push_str(&indent.repeat(level));
			}
		};
		out.push_str(open);
		let (inner, count) = (level.saturating_add(1), entries.len());
		for (place, (name, value)) in entries.into_iter().enumerate() {
			if place > 0 {
				out.push_str(&self.between);
			}
			line(inner, out);
			if let Some(name) = name {
				self.string(&name, out);
				out.push_str(&self.colon);
			}
			self.write(&value, inner, out)?;
		}
		if count > 0 {
			line(level, out);
		}
		out.push_str(close);
		Ok(())
	}

	fn string(&self, text: &str, out: &mut String) {
		out.push('"');
		for character in text.chars() {
			match character {
				'"' => out.push_str("\\\""),
				'\\' => out.push_str("\\\\"),
				'\n' => out.push_str("\\n"),
				'\r' => out.push_str("\\r"),
				'\t' => out.push_str("\\t"),
				'\u{8}' => out.push_str("\\b"),
				'\u{c}' => out.push_str("\\f"),
				other if other < ' ' || (self.ascii && !(' '..='~').contains(&other)) => {
					for unit in other.encode_utf16(&mut [0; 2]) {
						// A string takes all that is written.
						let _ = write!(out, "\\u{unit:04x}");
					}
				}
				other => out.push(other),
			}
		}
		out.push('"');
	}
}

/// Methods that minijinja's own list lacks, or has otherwise.
fn method(state: &State, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
	let Some(text) = value.as_str() else {
		return match (value.kind(), name) {
			(ValueKind::Seq, "index") => {
				let (what,): (&Value,) = from_args(arguments)?;
				let place = value.try_iter()?.position(|each| each == *what);
				place.map(Value::from).ok_or_else(|| invalid("index finds nothing"))
			}
			(ValueKind::Map | ValueKind::Seq, "copy") => Ok(value.clone()),
			_ => unknown_method_callback(state, value, name, arguments),
		};
	};
	// Characters before a byte.
	let place = |byte: usize| text.get(..byte).map_or(0, |before| before.chars().count());
	match name {
		"removeprefix" | "removesuffix" => {
			let (part,): (&str,) = from_args(arguments)?;
			let rest = if name == "removeprefix" { text.strip_prefix(part) } else { text.strip_suffix(part) };
			Ok(rest.unwrap_or(text).into())
		}
		"find" | "rfind" | "index" | "rindex" => {
			let (part,): (&str,) = from_args(arguments)?;
			let found = if name.starts_with('r') { text.rfind(part) } else { text.find(part) };
			match found {
				Some(byte) => Ok(place(byte).into()),
				None if name.ends_with("find") => Ok(Value::from(-1)),
				None => Err(invalid("index finds nothing")),
			}
		}
		"count" => {
			let (part,): (&str,) = from_args(arguments)?;
			// An empty one is between all characters, and around them.
			Ok(if part.is_empty() { text.chars().count().saturating_add(1) } else { text.matches(part).count() }.into())
		}
		"partition" | "rpartition" => {
			let (part,): (&str,) = from_args(arguments)?;
			let split = if name == "partition" { text.split_once(part) } else { text.rsplit_once(part) };
			let parts = match split {
				Some((before, behind)) => [before, part, behind],
				None if name == "partition" => [text, "", ""],
				None => ["", "", text],
			};
			Ok(parts.into_iter().map(Value::from).collect())
		}
		"split" | "rsplit" => {
			let (part, most, named): (Option<Value>, Option<i64>, Kwargs) = from_args(arguments)?;
			let part = match part {
				Some(part) => Some(part),
				None => named.get("sep")?,
			};
			let most = match most {
				Some(most) => Some(most),
				None => named.get::<Option<i64>>("maxsplit")?,
			};
			named.assert_all_used()?;
			split(text, part.as_ref().and_then(Value::as_str), most.and_then(|most| usize::try_from(most).ok()), name == "rsplit")
		}
		"ljust" | "rjust" | "zfill" => {
			let (width, fill): (usize, Option<char>) = from_args(arguments)?;
			let fill = if name == "zfill" { '0' } else { fill.unwrap_or(' ') };
			let lacking: String = std::iter::repeat_n(fill, width.min(WIDEST).saturating_sub(text.chars().count())).collect();
			Ok(if name == "ljust" { format!("{text}{lacking}") } else { format!("{lacking}{text}") }.into())
		}
		_ => unknown_method_callback(state, value, name, arguments),
	}
}

/// `text.split(part, most)`, or from the right.
fn split(text: &str, part: Option<&str>, most: Option<usize>, from_right: bool) -> Result<Value, Error> {
	if part == Some("") {
		return Err(invalid("an empty string splits nothing"));
	}
	let mut parts = Vec::new();
	let mut rest = match (part, from_right) {
		(Some(_), _) => text,
		(None, false) => text.trim_start(),
		(None, true) => text.trim_end(),
	};
	while most.is_none_or(|most| parts.len() < most) {
		let cut = match (part, from_right) {
			(Some(part), false) => rest.split_once(part),
			(Some(part), true) => rest.rsplit_once(part).map(|(before, behind)| (behind, before)),
			(None, false) => rest.split_once(char::is_whitespace).map(|(before, behind)| (before, behind.trim_start())),
			(None, true) => rest.rsplit_once(char::is_whitespace).map(|(before, behind)| (behind, before.trim_end())),
		};
		let Some((next, left)) = cut else { break };
		parts.push(next);
		rest = left;
	}
	if part.is_some() || !rest.is_empty() {
		parts.push(rest);
	}
	if from_right {
		parts.reverse();
	}
	Ok(parts.into_iter().map(Value::from).collect())
}
