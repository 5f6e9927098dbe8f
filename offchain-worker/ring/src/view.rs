//! View of a ring for people and over HTTP.

use super::{
	placement::Placement,
	report::{Report, Reports},
};
use serde_json::{json, Value};

/// Members of a ring with their spans, and reports about them.
#[derive(Clone, Debug)]
pub struct RingView {
	/// Placement of layers on members, with its reasons.
	pub placement: Placement,
	/// Reports about the members.
	pub reports: Reports,
}

impl RingView {
	/// As JSON: `spans`, the reasons in words, and what was noticed, the oldest first.
	pub fn json(&self) -> Value {
		let spans = self.placement.spans.iter().map(|span| {
			json!({
				"name": span.name,
				"first": span.first,
				"layers": span.layers,
				"head": span.head,
				"copy": span.copy,
				"bytes": span.bytes,
			})
		});
		let reports = self.reports.all().into_iter().map(|report| {
			let (what, name, words) = match report {
				Report::Joined(name) => ("joined", name, None),
				Report::Gone(name) => ("gone", name, None),
				Report::Late(name) => ("late", name, None),
				Report::Refused(name, words) => ("refused", name, Some(words)),
				Report::Lied(name, words) => ("lied", name, Some(words)),
			};
			json!({ "what": what, "name": name, "words": words })
		});
		json!({
			"spans": spans.collect::<Vec<_>>(),
			"explanation": self.placement.explain(),
			"reports": reports.collect::<Vec<_>>(),
			"replacements_us": self.reports.replacements(),
		})
	}
}
