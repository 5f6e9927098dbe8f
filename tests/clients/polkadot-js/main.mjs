// What @polkadot/api shows of a node.

import { run } from "../shared/run.mjs";
import { connect } from "./chain.mjs";
import { everyBlock, everyConstant, everyStorageEntry, metadata } from "./decode.mjs";
import { callsAreRefusedWithReasons, everyCallIsAnswered, everyErrorIsExplained, refusedBeforeABlock } from "./errors.mjs";
import { bond, prove, transfer } from "./money.mjs";
import { validate } from "./validators.mjs";
import { compareViews, everyView } from "./views.mjs";
import { claim, train } from "./work.mjs";

await run(connect, [
	["decodes the metadata", metadata],
	["decodes every constant", everyConstant],
	["transfers, to the planck", transfer],
	["registers, bonds and unbonds, to the planck", bond],
	["proves its arithmetic and its uptime", prove],
	["trains a round", train],
	["reads every view function", everyView],
	["finds the same in view functions and in storage", compareViews],
	["explains every error in the metadata", everyErrorIsExplained],
	["explains why calls are refused", callsAreRefusedWithReasons],
	["gets an answer from every call", everyCallIsAnswered],
	["explains what no block takes", refusedBeforeABlock],
	["nominates, claims and becomes a validator candidate, to the planck", validate],
	["claims what it earned, to the planck, and no more", claim],
	["decodes every storage entry", everyStorageEntry],
	["decodes every extrinsic and event", everyBlock],
]);
