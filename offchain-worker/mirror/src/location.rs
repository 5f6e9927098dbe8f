//! Addresses of mirrors.

use crate::client::Connector;
use object_store::{
	aws::AmazonS3Builder, gcp::GoogleCloudStorageBuilder, http::HttpBuilder, local::LocalFileSystem, path::Path, ClientOptions,
	ObjectStore, RetryConfig,
};
use std::{fmt, str::FromStr, sync::Arc};
use url::Url;

/// Variables that name credentials of S3, or say that none are used.
const AWS: [&str; 6] = [
	"AWS_ACCESS_KEY_ID",
	"AWS_SECRET_ACCESS_KEY",
	"AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI",
	"AWS_METADATA_ENDPOINT",
];
/// The same of Google Cloud Storage.
const GOOGLE: [&str; 5] = [
	"GOOGLE_SERVICE_ACCOUNT",
	"GOOGLE_SERVICE_ACCOUNT_PATH",
	"GOOGLE_SERVICE_ACCOUNT_KEY",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"GOOGLE_BEARER_TOKEN",
];

/// Why an address is none. It is not quoted where it may hold a secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LocationError {
	/// It has parts that hold secrets.
	#[error("the address of a mirror has no user, password, query or fragment: credentials are taken from the environment, such as AWS_ACCESS_KEY_ID")]
	Secret,
	/// A bucket has no port.
	#[error("the address of a bucket has no port: the address of a store that speaks the protocol of S3 is named with AWS_ENDPOINT_URL, such as http://HOST:9000")]
	Port,
	/// It is of another kind.
	#[error("{0:?} is no address of a mirror: expected https://HOST/PATH, http://HOST/PATH, s3://BUCKET/PATH, gs://BUCKET/PATH or file:///FOLDER")]
	Unknown(String),
}

/// Kind of store that an address leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
	/// A web server, with or without TLS.
	Web { tls: bool },
	/// Amazon S3, or what speaks its protocol.
	S3,
	/// Google Cloud Storage.
	Gcs,
	/// A folder.
	Folder,
}

/// Address of a mirror: a folder on a web server, in an object store or on this machine. It holds no secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
	url: Url,
	kind: Kind,
}

impl fmt::Display for Location {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		self.url.fmt(formatter)
	}
}

impl FromStr for Location {
	type Err = LocationError;

	fn from_str(text: &str) -> Result<Self, LocationError> {
		if text.contains(['@', '?', '#']) {
			return Err(LocationError::Secret);
		}
		let unknown = || LocationError::Unknown(text.to_owned());
		let url = Url::parse(text).map_err(|_| unknown())?;
		let named = url.host_str().is_some_and(|host| !host.is_empty());
		let kind = match url.scheme() {
			"https" if named => Kind::Web { tls: true },
			"http" if named => Kind::Web { tls: false },
			"s3" if named => Kind::S3,
			"gs" if named => Kind::Gcs,
			// `file:folder` would be a folder of the root.
			"file" if !named && text.starts_with("file:///") => Kind::Folder,
			_ => return Err(unknown()),
		};
		if matches!(kind, Kind::S3 | Kind::Gcs) && url.port().is_some() {
			return Err(LocationError::Port);
		}
		Ok(Self { url, kind })
	}
}

/// An opened mirror.
#[derive(Clone)]
pub(crate) struct Place {
	pub(crate) store: Arc<dyn ObjectStore>,
	/// What its paths begin with.
	pub(crate) prefix: Path,
}

impl fmt::Debug for Place {
	/// Without the store, which holds credentials.
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		formatter.debug_struct("Place").field("prefix", &self.prefix).finish_non_exhaustive()
	}
}

impl Location {
	/// Returns whether content can be pushed to it.
	pub(crate) fn takes(&self) -> bool {
		!matches!(self.kind, Kind::Web { .. })
	}

	/// Opens the store; asks nobody yet.
	pub(crate) fn open(&self, retry: RetryConfig) -> object_store::Result<Place> {
		let prefix = Path::from_url_path(self.url.path()).map_err(object_store::Error::from)?;
		let store: Arc<dyn ObjectStore> = match self.kind {
			Kind::Web { tls } => {
				let options = ClientOptions::new().with_allow_http(!tls);
				let builder = HttpBuilder::new().with_url(self.url.as_str()).with_client_options(options).with_retry(retry);
				// Its own path is part of the address there.
				return Ok(Place { store: Arc::new(builder.with_http_connector(Connector).build()?), prefix: Path::default() });
			}
			Kind::S3 => {
				let bucket = self.url.host_str().unwrap_or_default();
				let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).with_http_connector(Connector);
				Arc::new(if named(&AWS) { builder } else { builder.with_skip_signature(true) }.build()?)
			}
			Kind::Gcs => {
				let bucket = self.url.host_str().unwrap_or_default();
				let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
				let builder = builder.with_retry(retry).with_http_connector(Connector);
				Arc::new(if named(&GOOGLE) { builder } else { builder.with_skip_signature(true) }.build()?)
			}
			Kind::Folder => Arc::new(LocalFileSystem::new()),
		};
		Ok(Place { store, prefix })
	}
}

/// Returns whether the environment names credentials. Where it does not, requests are not signed, and no metadata service is asked for any: public
/// buckets can be read, and nobody is asked whom the operator did not name.
fn named(variables: &[&str]) -> bool {
	variables.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn addresses_are_of_web_servers_object_stores_and_folders() {
		for text in ["https://host/path", "http://127.0.0.1:8000/", "s3://bucket/a/b", "gs://bucket/", "file:///srv/mirror"] {
			assert_eq!(text.parse::<Location>().unwrap().to_string(), text);
		}
		for text in ["", "host/path", "ftp://host/", "s3:///path", "file://host/path", "file:path", "az://container", "/srv/mirror"] {
			assert!(matches!(text.parse::<Location>(), Err(LocationError::Unknown(_))), "{text}");
		}
	}

	#[test]
	fn a_bucket_has_no_port_and_a_web_server_may() {
		for text in ["s3://host:9000/path", "gs://bucket:443/"] {
			let error = text.parse::<Location>().unwrap_err();
			assert!(error == LocationError::Port && error.to_string().contains("AWS_ENDPOINT_URL"), "{text}: {error}");
		}
		assert!("http://host:9000/path".parse::<Location>().is_ok());
	}

	#[test]
	fn an_address_that_may_hold_a_secret_is_refused_and_not_quoted() {
		for text in ["https://user:word@host/", "https://host/?X-Amz-Signature=word", "s3://word@bucket/", "https://host/#word", "word@"] {
			let error = text.parse::<Location>().unwrap_err();
			assert!(
				error == LocationError::Secret && !error.to_string().contains("word@") && !error.to_string().contains("=word"),
				"{error}"
			);
		}
	}

	#[test]
	fn what_is_printed_of_an_opened_mirror_holds_no_credentials() {
		let store = AmazonS3Builder::new().with_bucket_name("bucket").with_access_key_id("hidden").with_secret_access_key("hidden");
		let store = Arc::new(store.with_http_connector(Connector).build().unwrap());
		let printed = format!("{:?}", Place { store, prefix: Path::from("a/b") });
		assert!(printed.contains("a/b") && !printed.contains("hidden"), "{printed}");
	}

	#[test]
	fn only_those_that_can_be_written_to_take_content() {
		let takes = |text: &str| text.parse::<Location>().unwrap().takes();
		assert!(
			takes("s3://bucket/") && takes("gs://bucket/") && takes("file:///srv") && !takes("https://host/") && !takes("http://host/")
		);
	}
}
