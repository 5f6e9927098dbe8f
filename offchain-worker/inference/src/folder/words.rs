//! Content of the files beside `tokenizer.json`: how special tokens are written, and by which template a chat becomes a prompt. As transformers reads
//! them.

use super::{is_there, json_if_there, FolderError};
use crate::files;
use serde_json::{Map, Value};
use std::{
	collections::BTreeMap,
	fs,
	path::{Path, PathBuf},
};

/// Special tokens that templates have names for.
const NAMES: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
/// The template of chats, where there are several.
const DEFAULT: &str = "default";
/// Folders of more templates, the newer name first.
const MORE: [&str; 2] = ["additional_chat_templates", "chat_templates"];
/// Bytes of the longest template.
const LONGEST_TEMPLATE: u64 = 1 << 20;

/// The template of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Template {
	/// It has none.
	None,
	/// This one.
	Is(String),
	/// It has one that cannot be used, for this reason.
	Refused(String),
}

/// Content of the files.
pub(super) struct Words {
	/// Names of special tokens, and how they are written.
	pub(super) specials: Vec<(String, String)>,
	/// The template.
	pub(super) template: Template,
}

impl Words {
	/// Those of a tokenizer without files beside it.
	pub(super) fn none() -> Self {
		Self { specials: Vec::new(), template: Template::None }
	}

	/// Reads `tokenizer_config.json`, and what else counts.
	///
	/// # Errors
	/// [`FolderError`].
	pub(super) fn read(folder: &Path) -> Result<Self, FolderError> {
		let mut config: Map<String, Value> = json_if_there(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
		// Older folders have their special tokens there.
		if !config.contains_key("added_tokens_decoder") {
			let map: Map<String, Value> = json_if_there(&folder.join("special_tokens_map.json"))?.unwrap_or_default();
			config.extend(map.into_iter().filter(|(name, _)| NAMES.contains(&name.as_str())));
		}
		let text = |value: &Value| value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned);
		let specials = NAMES.into_iter().filter_map(|name| Some((name.to_owned(), text(config.get(name)?)?))).collect();
		let template = template(folder, config.get("chat_template")).unwrap_or_else(Template::Refused);
		Ok(Self { specials, template })
	}

	/// Returns the text of a special token.
	pub(super) fn special(&self, name: &str) -> Option<&str> {
		self.specials.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str())
	}
}

/// That in a file of its own, or else that in the configuration.
fn template(folder: &Path, told: Option<&Value>) -> Result<Template, String> {
	let files = files_of(folder);
	if !files.is_empty() {
		let path = files.get(DEFAULT).ok_or_else(|| no_default(files.keys().map(String::as_str)))?;
		return read_template(path).map(Template::Is);
	}
	let mut all: BTreeMap<&str, &str> = match told {
		None | Some(Value::Null) => return Ok(Template::None),
		Some(Value::String(template)) => return Ok(Template::Is(template.clone())),
		Some(Value::Array(several)) => {
			let lacking = "an entry of chat_template in tokenizer_config.json lacks a name or a template";
			several.iter().map(named).collect::<Option<_>>().ok_or(lacking)?
		}
		Some(_) => return Err("chat_template in tokenizer_config.json is no text, and no list of texts with names".into()),
	};
	match all.remove(DEFAULT) {
		Some(template) => Ok(Template::Is(template.to_owned())),
		None => Err(no_default(all.into_keys())),
	}
}

/// Reads the file of a template.
pub(super) fn read_template(path: &Path) -> Result<String, String> {
	let bytes = files::read(path, LONGEST_TEMPLATE).map_err(|error| error.to_string())?;
	String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}

fn named(entry: &Value) -> Option<(&str, &str)> {
	Some((entry.get("name")?.as_str()?, entry.get("template")?.as_str()?))
}

fn no_default<'a>(names: impl Iterator<Item = &'a str>) -> String {
	let names: Vec<&str> = names.collect();
	format!("it has several templates ({}), and none of the name {DEFAULT}, which is the one that is used", names.join(", "))
}

/// Files of templates by name.
fn files_of(folder: &Path) -> BTreeMap<String, PathBuf> {
	let mut files = BTreeMap::new();
	for more in MORE.into_iter().rev() {
		for entry in fs::read_dir(folder.join(more)).into_iter().flatten().flatten() {
			if let Some(name) = entry.file_name().to_str().and_then(|name| name.strip_suffix(".jinja")) {
				files.insert(name.to_owned(), entry.path());
			}
		}
	}
	let own = folder.join("chat_template.jinja");
	if is_there(&own) && !files.contains_key(DEFAULT) {
		files.insert(DEFAULT.into(), own);
	}
	files
}
