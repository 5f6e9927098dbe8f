// What docs/reference/errors.md says about errors, as the names it gives them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const DOCS = new URL("../../../docs/reference/errors.md", import.meta.url);
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
/** Errors in the metadata that nothing raises on this chain, so that the documentation leaves them out: their calls do not exist, need an origin
 * that nobody has, or are set up so that they cannot fail like this. */
const NEVER_RAISED = [
	"System.NonDefaultComposite",
	"System.NonZeroRefCount",
	"Balances.VestingBalance",
	"Balances.ExistingVestingSchedule",
	"Assets.InUse",
	"Assets.BadAssetId",
	"Assets.AssetIdAllocationFailed",
	"Assets.CallbackFailed",
	"Assets.MinBalanceZero",
	"Assets.NotFrozen",
	"Assets.Frozen",
	"Assets.AssetNotLive",
	"Assets.ContainsHolds",
	"Assets.TooManyReserves",
	"Assets.UnavailableConsumer",
	"Assets.IncompleteDepositTransfer",
	"Assets.BadWitness",
	"Assets.LiveAsset",
	"Assets.WouldDie",
	"Identity.NotNamed",
	"Identity.RequiresSignature",
	"Multisig.NoApprovalsNeeded",
	"Multisig.AlreadyStored",
	"Proxy.Unproxyable",
	"Council.AlreadyInitialized",
	"TechnicalCommittee.AlreadyInitialized",
	"Treasury.FailedToConvertBalance",
	"Treasury.Inconclusive",
	"Preimage.Requested",
	"SafeMode.AlreadyDeposited",
	"SafeMode.CannotReleaseYet",
	"SafeMode.CurrencyError",
	"TxPause.NotFound",
	"Grandpa.PauseFailed",
	"Grandpa.ResumeFailed",
	"Grandpa.ChangePending",
	"Grandpa.TooSoon",
];

/** Names of the errors of a type with this path and these variants, if it is one of the SDK's that is no pallet's. */
export function namesOf(path, variants) {
	const [crate] = path;
	const pattern = /^sp_(runtime|arithmetic)$/.test(crate ?? "") ? TYPES[path.at(-1)] : undefined;
	if (!pattern) return [];
	return variants.filter((name) => pattern !== "*" || !CARRIERS.includes(name)).map((name) => pattern.replace("*", name));
}

/** Asserts that the documentation names each of these errors that something raises, in the first column of a row that says what to do, and no
 * others. */
export function assertDocumented(names) {
	const [, section] = readFileSync(DOCS, "utf8").split(TITLE);
	assert.ok(section, "docs/reference/errors.md has no section about errors");
	const rows = section.split(/^## /m)[0].split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
	const explained = rows.filter(([, named, meaning, remedy]) => named && meaning && remedy);
	const known = new Set(explained.flatMap(([, named]) => [...named.matchAll(/`([A-Za-z.]+)`/g)].map(([, name]) => name)));
	const prefixes = Object.values(TYPES).filter((pattern) => pattern !== "*").map((pattern) => pattern.split(".")[0]);
	for (const prefix of prefixes) assert.ok(names.some((name) => name.startsWith(`${prefix}.`)), `the metadata has no errors ${prefix}.*`);
	const raised = names.filter((name) => !NEVER_RAISED.includes(name));
	assert.deepEqual(raised.filter((name) => !known.has(name)), [], "errors that tests/reference/remedies.md does not name: add what to do");
	assert.deepEqual([...known].filter((name) => !raised.includes(name)), [], "errors that nothing raises: take them out of tests/reference/remedies.md");
	assert.deepEqual(NEVER_RAISED.filter((name) => !names.includes(name)), [], "errors that the metadata does not have: take them off the list");
}
