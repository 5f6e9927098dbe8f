// Decodes everything there is, and makes sure that nothing is left over: what was decoded, encoded again, is what the node sent.

import assert from "node:assert/strict";
import { hexToU8a, u8aToHex } from "@polkadot/util";
import { xxhashAsHex } from "@polkadot/util-crypto";
import { named } from "./chain.mjs";

/** Keys that are asked for at once. */
const PAGE = 500;
/** `:code` and its like, which belong to no pallet. */
const WELL_KNOWN = /^0x3a/;
const VERSION = xxhashAsHex(":__STORAGE_VERSION__:", 128).slice(2);

/** Decodes `bytes`, in hexadecimal digits, as a type of the metadata, and fails if they are not exactly one value of it. */
function exactly(api, type, bytes, what) {
	const value = api.registry.createTypeUnsafe(api.registry.createLookupType(type), [hexToU8a(bytes)]);
	assert.equal(u8aToHex(value.toU8a()), bytes, `${what} has more or less than its type`);
	return value;
}

/** The newest metadata that both sides know, with all of its types. */
export async function metadata({ api }) {
	const versions = await api.call.metadata.metadataVersions();
	const known = versions.map((version) => version.toNumber()).filter((version) => version <= 16);
	assert.equal(api.runtimeMetadata.version, Math.max(...known));
	const { types } = api.runtimeMetadata.asLatest.lookup;
	for (const { id } of types) api.registry.createTypeUnsafe(api.registry.createLookupType(id), []);
	for (const version of known) assert.ok((await api.call.metadata.metadataAtVersion(version)).isSome);
	return `version ${api.runtimeMetadata.version}, ${types.length} types`;
}

export async function everyConstant({ api }) {
	let count = 0;
	for (const { name, constants } of api.registry.metadata.pallets) {
		for (const { name: constant, type, value } of constants) {
			exactly(api, type, value.toHex(true), `the constant ${name}.${constant}`);
			count += 1;
		}
	}
	return `${count} constants`;
}

/** Storage entries of the metadata by their prefix in the state. */
function entries(api) {
	const found = new Map();
	for (const { name, storage } of api.registry.metadata.pallets) {
		if (storage.isNone) continue;
		const { prefix, items } = storage.unwrap();
		for (const item of items) {
			const place = xxhashAsHex(prefix.toString(), 128) + xxhashAsHex(item.name.toString(), 128).slice(2);
			found.set(place, { what: `${name}.${item.name}`, item, values: 0 });
		}
	}
	return found;
}

/** The whole state of the best block: each key belongs to an entry, and each value is of its type. */
export async function everyStorageEntry({ api, request }) {
	const hash = (await api.rpc.chain.getBlockHash()).toHex();
	const places = entries(api);
	const at = await api.at(hash);
	const byName = new Map(Object.values(at.query).flatMap((pallet) => Object.values(pallet)).map((entry) => [entry.creator && place(entry), entry]));
	let [values, start] = [0, undefined];
	for (;;) {
		const keys = await request("state_getKeysPaged", "0x", PAGE, start, hash);
		if (keys.length === 0) break;
		start = keys.at(-1);
		const own = keys.filter((key) => !WELL_KNOWN.test(key) && key.slice(34, 66) !== VERSION);
		const [{ changes }] = own.length > 0 ? await request("state_queryStorageAt", own, hash) : [{ changes: [] }];
		assert.equal(changes.length, own.length);
		for (const [key, bytes] of changes) {
			const entry = places.get(key.slice(0, 66));
			assert.ok(entry, `${key} belongs to no storage entry of the metadata`);
			const { type } = entry.item;
			exactly(api, type.isMap ? type.asMap.value : type.asPlain, bytes, entry.what);
			if (type.isMap) assert.equal(again(byName.get(key.slice(0, 66)), key), key, `a key of ${entry.what}`);
			entry.values += 1;
			values += 1;
		}
	}
	for (const [prefix, { what, item, values }] of places) {
		const entry = byName.get(prefix);
		assert.ok(entry, `the API has no query for ${what}`);
		// What an application asks for.
		if (item.type.isMap) assert.equal((await entry.entries()).length, values, what);
		else await entry();
	}
	return `${values} values of ${places.size} entries`;
}

const place = ({ creator }) => xxhashAsHex(creator.prefix, 128) + xxhashAsHex(creator.meta.name.toString(), 128).slice(2);

/** The key that the decoded arguments of `key` make. */
function again(entry, key) {
	const decoded = entry.creator.meta.registry.createTypeUnsafe("StorageKey", [key]);
	decoded.setMeta(entry.creator.meta, entry.creator.section, entry.creator.method);
	return entry.key(...decoded.args);
}

/** All extrinsics and events from genesis to the best block. */
export async function everyBlock({ api, request }) {
	const head = (await api.rpc.chain.getHeader()).number.toNumber();
	let [extrinsics, events] = [0, 0];
	for (let number = 0; number <= head; number += 1) {
		const hash = await request("chain_getBlockHash", number);
		const { block } = await request("chain_getBlock", hash);
		const decoded = await api.rpc.chain.getBlock(hash);
		assert.deepEqual(decoded.block.extrinsics.map((extrinsic) => extrinsic.toHex()), block.extrinsics);
		const at = await api.at(hash);
		const bytes = (await request("state_getStorage", api.query.system.events.key(), hash)) ?? "0x00";
		const records = await at.query.system.events();
		assert.equal(u8aToHex(records.toU8a()), bytes, `events of block ${number}`);
		for (const { event } of records) {
			if (at.events.system.ExtrinsicFailed.is(event)) assert.ok(named(api, event.data[0]).name);
		}
		extrinsics += decoded.block.extrinsics.length;
		events += records.length;
	}
	assert.ok(extrinsics > head, "each block but the first has at least its time");
	return `${extrinsics} extrinsics and ${events} events of ${head + 1} blocks`;
}
