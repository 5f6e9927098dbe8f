//! Where the cache and the hub are, as the variables of its tools say.

use super::HubError;
use hyper::header::HeaderValue;
use std::{ffi::OsString, fs, path::PathBuf};

/// Address of the hub.
const ENDPOINT: &str = "https://huggingface.co";

/// Where the cache and the hub are.
#[derive(Clone, Debug)]
pub struct Settings {
	/// Folder of the cache.
	pub(crate) cache: PathBuf,
	/// Address of the hub, without a slash at its end.
	pub(crate) endpoint: String,
	/// What shows the hub who asks. It is told nobody, and not shown by `Debug`.
	pub(crate) authorization: Option<HeaderValue>,
	/// Whether nothing is fetched.
	pub(crate) is_offline: bool,
}

impl Settings {
	/// Those of the environment: HF_HUB_CACHE or HF_HOME, HF_ENDPOINT, HF_TOKEN or the token that `hf auth login` has left, and HF_HUB_OFFLINE.
	///
	/// # Errors
	/// [`HubError::Setting`].
	pub fn from_environment() -> Result<Self, HubError> {
		Self::from(|name| std::env::var_os(name))
	}

	pub(crate) fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, HubError> {
		let named = |name: &str| variable(name).filter(|value| !value.is_empty());
		let path = |name: &str| named(name).map(PathBuf::from);
		let home = path("HF_HOME")
			.or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
			.or_else(|| path("HOME").map(|home| home.join(".cache").join("huggingface")));
		let cache = path("HF_HUB_CACHE").or_else(|| Some(home.as_ref()?.join("hub"))).ok_or_else(|| HubError::Setting {
			name: "HF_HUB_CACHE",
			reason: "there is no home folder that the hub's cache could be in: name a folder for it".into(),
		})?;
		let text = |name: &'static str, value: OsString| {
			value.into_string().map_err(|_| HubError::Setting { name, reason: "it is no text".into() })
		};
		let endpoint = match named("HF_ENDPOINT") {
			Some(value) => text("HF_ENDPOINT", value)?,
			None => ENDPOINT.to_owned(),
		};
		let endpoint = endpoint.trim_end_matches('/').to_owned();
		if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") || endpoint.contains(['?', '#', '@']) {
			return Err(HubError::Setting { name: "HF_ENDPOINT", reason: format!("expected an address such as {ENDPOINT}") });
		}
		let token = match named("HF_TOKEN") {
			Some(value) => Some(text("HF_TOKEN", value)?),
			None => path("HF_TOKEN_PATH").or_else(|| Some(home?.join("token"))).and_then(|path| fs::read_to_string(path).ok()),
		};
		let authorization = token.as_deref().map(str::trim).filter(|token| !token.is_empty()).map(authorization).transpose()?;
		let is_offline = named("HF_HUB_OFFLINE").and_then(|value| value.into_string().ok());
		let is_offline = is_offline.is_some_and(|value| matches!(value.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE"));
		Ok(Self { cache, endpoint, authorization, is_offline })
	}
}

fn authorization(token: &str) -> Result<HeaderValue, HubError> {
	let mut header = HeaderValue::try_from(format!("Bearer {token}"))
		.map_err(|_| HubError::Setting { name: "HF_TOKEN", reason: "the token has characters that no token has".into() })?;
	header.set_sensitive(true);
	Ok(header)
}

#[cfg(test)]
mod tests {
	use super::*;

	fn settings(variables: &[(&str, &str)]) -> Result<Settings, HubError> {
		Settings::from(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into()))
	}

	#[test]
	fn the_cache_is_where_the_first_variable_says() {
		let cache = |variables: &[(&str, &str)]| settings(variables).unwrap().cache;
		let all = [("HF_HUB_CACHE", "/c"), ("HF_HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/home/u")];
		for (from, expected) in [(0, "/c"), (1, "/h/hub"), (2, "/x/huggingface/hub"), (3, "/home/u/.cache/huggingface/hub")] {
			assert_eq!(cache(&all[from..]), PathBuf::from(expected));
		}
		assert!(settings(&[]).unwrap_err().to_string().starts_with("HF_HUB_CACHE: there is no home folder"));
	}

	#[test]
	fn a_token_is_of_a_variable_or_a_file_and_never_shown() {
		let folder = tempfile::tempdir().unwrap();
		fs::write(folder.path().join("token"), " hf_filed\n").unwrap();
		let home = folder.path().to_str().unwrap();
		let of_file = settings(&[("HF_HOME", home)]).unwrap();
		let of_variable = settings(&[("HF_HOME", home), ("HF_TOKEN", "hf_named")]).unwrap();
		assert_eq!(of_file.authorization.as_ref().unwrap(), "Bearer hf_filed");
		assert_eq!(of_variable.authorization.as_ref().unwrap(), "Bearer hf_named");
		assert!(!format!("{of_file:?} {of_variable:?}").contains("hf_"));
		let words = settings(&[("HOME", "/"), ("HF_TOKEN", "hf_a\nb")]).unwrap_err();
		assert!(!format!("{words} {words:?}").contains("hf_a"), "{words}");
		assert!(settings(&[("HOME", "/nowhere")]).unwrap().authorization.is_none());
	}

	#[test]
	fn an_endpoint_is_an_address_and_offline_is_a_yes() {
		let endpoint = |value: &str| settings(&[("HOME", "/"), ("HF_ENDPOINT", value)]).map(|settings| settings.endpoint);
		assert_eq!(endpoint("http://127.0.0.1:1/").unwrap(), "http://127.0.0.1:1");
		assert_eq!(endpoint("").unwrap(), ENDPOINT);
		for wrong in ["127.0.0.1", "ftp://x", "https://user:word@host", "https://host?x"] {
			assert!(endpoint(wrong).unwrap_err().to_string().contains("https://huggingface.co"), "{wrong}");
		}
		let is_offline = |value: &str| settings(&[("HOME", "/"), ("HF_HUB_OFFLINE", value)]).unwrap().is_offline;
		assert_eq!(["1", "true", "Yes", "ON", "0", "", "no"].map(is_offline), [true, true, true, true, false, false, false]);
	}
}
