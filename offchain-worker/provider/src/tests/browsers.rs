//! Tests of the requests that pages in browsers may make.

use super::*;
use std::os::unix::fs::PermissionsExt;

const PAGE: &str = "https://chat.example";
const KEY: &str = "a-key-of-the-tests";

/// A server with a key, for pages of one site.
fn start(origins: &[&str]) -> (Running, tempfile::TempDir) {
	let folder = tempfile::tempdir().unwrap();
	let keys = folder.path().join("keys");
	std::fs::write(&keys, KEY).unwrap();
	std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
	(Running::with(bounds(), origins.iter().map(|origin| origin.parse().unwrap()).collect(), Some(keys)), folder)
}

fn request(method: &str, headers: &str, body: &str) -> String {
	let length = body.len();
	format!("{method} /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

/// The first line of an answer's head without its version, and its headers for pages.
fn told(head: &str) -> (&str, Vec<&str>) {
	let mut lines = head.lines();
	(lines.next().unwrap().split_once(' ').unwrap().1, lines.filter(|line| line.starts_with("access-control")).collect())
}

#[tokio::test]
async fn a_page_that_is_named_asks_without_a_key_whether_it_may_and_reads_errors_and_streams() {
	let (server, _folder) = start(&[PAGE]);
	let from = format!("origin: {PAGE}\r\nsec-fetch-site: cross-site\r\n");
	let expected = [format!("access-control-allow-origin: {PAGE}"), "access-control-expose-headers: retry-after".into()];
	let mut client = server.client().await;
	let wish = format!("{from}access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n");
	client.send(request("OPTIONS", &wish, "")).await;
	let head = client.up_to("\r\n\r\n").await;
	assert_eq!(told(&head).0, "204 No Content");
	for header in [&expected[0], "access-control-allow-methods: GET, POST", "access-control-allow-headers: authorization"] {
		assert!(told(&head).1.contains(&header), "{head}");
	}
	let body = r#"{"model": "tiny", "prompt": "fn", "max_tokens": 2, "ignore_eos": true, "stream": true}"#;
	let (head, _) = client.ask(request("POST", &from, body)).await;
	assert_eq!(told(&head), ("401 Unauthorized", expected.iter().map(String::as_str).collect()));
	let known = format!("{from}authorization: Bearer {KEY}\r\n");
	let (head, _) = client.ask(request("POST", &known, "{}")).await;
	assert_eq!(told(&head), ("400 Bad Request", expected.iter().map(String::as_str).collect()));
	client.send(request("POST", &known, body)).await;
	let head = client.up_to("\r\n\r\n").await;
	assert_eq!(told(&head), ("200 OK", expected.iter().map(String::as_str).collect()));
	assert!(head.contains("x-accel-buffering: no\r\n") && head.contains("cache-control: no-cache\r\n"), "{head}");
	client.up_to("[DONE]\n\n").await;
	server.end().await;
}

#[tokio::test]
async fn pages_that_are_not_named_have_nothing_computed() {
	let (server, _folder) = start(&[]);
	let mut client = server.client().await;
	let known = format!("authorization: Bearer {KEY}\r\n");
	for from in
		["origin: https://evil.example\r\n", "sec-fetch-site: cross-site\r\n", "origin: null\r\n", "origin: http://127.0.0.1:3000\r\n"]
	{
		let (head, body) =
			client.ask(request("POST", &format!("{known}{from}"), r#"{"model": "tiny", "prompt": "fn", "max_tokens": 1}"#)).await;
		assert_eq!(told(&head), ("403 Forbidden", Vec::new()), "{from}");
		assert!(body.contains("--cors") && body.contains("cross_origin"), "{body}");
	}
	// By a name that somebody else had made to stand for this machine.
	let (head, body) = client.ask("GET /health HTTP/1.1\r\nhost: evil.example\r\nsec-fetch-site: same-origin\r\n\r\n").await;
	assert!(told(&head).0 == "403 Forbidden" && body.contains("other_host"), "{body}");
	// It is told how addresses are asked, and nothing for pages.
	let (head, body) = client.ask(request("OPTIONS", "origin: https://evil.example\r\naccess-control-request-method: POST\r\n", "")).await;
	assert_eq!(told(&head), ("405 Method Not Allowed", Vec::new()));
	assert!(head.contains("allow: POST\r\n") && body.contains("--cors"), "{head}{body}");
	assert_eq!(server.stats.generated_tokens.get(), 0);
	server.end().await;
}
