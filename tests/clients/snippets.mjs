// Runs the JavaScript of docs/rpc.md as it stands there, but against the node that the command line names.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { run } from "./shared/run.mjs";

/** The address in the documentation. */
const ADDRESS = "ws://127.0.0.1:9944";
/** Where the modules find the packages that they import, and git finds nothing. */
const FOLDER = new URL("node_modules/.snippets/", import.meta.url);

async function snippets(url) {
	const page = await readFile(new URL("../../docs/rpc.md", import.meta.url), "utf8");
	const found = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code.replaceAll(ADDRESS, url));
	if (found.length === 0) throw new Error("docs/rpc.md has no JavaScript");
	await mkdir(FOLDER, { recursive: true });
	return { found, close: () => rm(FOLDER, { recursive: true }) };
}

async function runs({ found }) {
	for (const [place, code] of found.entries()) {
		const file = new URL(`${place}.mjs`, FOLDER);
		await writeFile(file, code);
		await import(file);
	}
	return `${found.length} snippets`;
}

await run(snippets, [["runs what docs/rpc.md shows", runs]]);
