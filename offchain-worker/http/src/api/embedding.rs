//! Requests for embeddings.

use super::{
	fault::Fault,
	fields,
	input::{prompts, Prompt},
	json::Members,
	Kind,
};

/// A request for embeddings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Embedding {
	/// Name of the model.
	pub model: String,
	/// The texts.
	pub input: Vec<Prompt>,
	/// True if vectors are told in base64, and not as numbers.
	pub base64: bool,
}

impl Embedding {
	/// Reads a request's body.
	///
	/// # Errors
	/// [`Fault`].
	pub fn read(body: &[u8]) -> Result<Self, Fault> {
		let members = Members::of(body)?;
		fields::check(Kind::Embedding, &members)?;
		let base64 = match members.get("encoding_format") {
			None => false,
			Some(field) => match field.text("float or base64")?.as_str() {
				"float" => false,
				"base64" => true,
				_ => return Err(Fault::value(field.path, "encoding_format must be float or base64")),
			},
		};
		Ok(Self { model: super::request::model(&members)?, input: prompts(&members, "input")?, base64 })
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn texts_and_tokens_are_read_and_the_rest_is_refused_by_name() {
		let read = |fields: &str| Embedding::read(format!("{{\"model\": \"m\", {fields}}}").as_bytes());
		let texts = Embedding { model: "m".into(), input: vec![Prompt::Text("a".into()), Prompt::Text("b".into())], base64: true };
		assert_eq!(read(r#""input": ["a", "b"], "encoding_format": "base64", "user": "me", "dimensions": null"#), Ok(texts));
		assert_eq!(read(r#""input": [1, 2.0]"#).unwrap().input, [Prompt::Tokens(vec![1, 2])]);
		for (fields, named) in [
			(r#""input": null"#, "input"),
			(r#""input": [1, "a"]"#, "input[1]"),
			(r#""input": "a", "encoding_format": "int8""#, "encoding_format"),
			(r#""input": "a", "encoding_format": 8"#, "encoding_format"),
			(r#""input": "a", "dimensions": 12"#, "dimensions"),
			(r#""input": "a", "temperature": 1"#, "temperature"),
			(r#""input": "a", "inputs": 1"#, "inputs"),
		] {
			assert_eq!(read(fields).unwrap_err().param.as_deref(), Some(named), "{fields}");
		}
	}
}
