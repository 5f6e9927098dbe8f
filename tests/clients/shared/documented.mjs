// What docs/rpc.md says about errors, as the names it gives them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const DOCS = new URL("../../../docs/rpc.md", import.meta.url);
const TITLE = "## Errors of the chain's own machinery and what to do\n";

/** Types of errors that are no pallet's, by the last parts of their paths, and what their variants are called in the documentation: a
 * pattern with `*` for the variant. */
const TYPES = {
	DispatchError: "*",
	TokenError: "Token.*",
	ArithmeticError: "Arithmetic.*",
	InvalidTransaction: "Invalid.*",
	UnknownTransaction: "Unknown.*",
};
/** Variants of `DispatchError` that only carry another error, which is named itself. */
const CARRIERS = ["Module", "Token", "Arithmetic"];

/** Names of the errors of a type with this path and these variants, if it is one of the SDK's that is no pallet's. */
export function namesOf(path, variants) {
	const [crate] = path;
	const pattern = /^sp_(runtime|arithmetic)$/.test(crate ?? "") ? TYPES[path.at(-1)] : undefined;
	if (!pattern) return [];
	return variants.filter((name) => pattern !== "*" || !CARRIERS.includes(name)).map((name) => pattern.replace("*", name));
}

/** Asserts that the documentation names each of these errors, in the first column of a row that says what to do. */
export function assertDocumented(names) {
	const [, section] = readFileSync(DOCS, "utf8").split(TITLE);
	assert.ok(section, "docs/rpc.md has no section about errors");
	const rows = section.split(/^## /m)[0].split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
	const explained = rows.filter(([, named, meaning, remedy]) => named && meaning && remedy);
	const known = new Set(explained.flatMap(([, named]) => [...named.matchAll(/`([A-Za-z.]+)`/g)].map(([, name]) => name)));
	const prefixes = Object.values(TYPES).filter((pattern) => pattern !== "*").map((pattern) => pattern.split(".")[0]);
	for (const prefix of prefixes) assert.ok(names.some((name) => name.startsWith(`${prefix}.`)), `the metadata has no errors ${prefix}.*`);
	assert.deepEqual(names.filter((name) => !known.has(name)), [], "errors that docs/rpc.md does not name: add what to do");
}
