// What the page to chat on does in a browser, with its own script: node main.mjs ADDRESS, which is that of a server, or of a file with the page. The answers
// that it gets are made here.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { JSDOM } from "jsdom";

const [from] = process.argv.slice(2);
const html = from.startsWith("http") ? await (await fetch(from)).text() : await readFile(from, "utf8");

const event = (value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
const piece = (content) => event({ choices: [{ delta: { content } }] });
const stream = (...events) => ({ ok: true, body: ReadableStream.from(events.map((text) => new TextEncoder().encode(text))) });
const answer = (content) => () => stream(piece(content), event("[DONE]"));
const refusal = () => ({ ok: false, status: 429, json: async () => ({ error: { message: "too many wait" } }) });
const unreachable = () => Promise.reject(new TypeError("fetch failed"));
// Gives a piece, and then nothing until it is stopped.
const endless = (...events) => ({ signal }) => {
	const body = new ReadableStream({
		start: (to) => {
			for (const text of events) to.enqueue(new TextEncoder().encode(text));
			signal.addEventListener("abort", () => to.error(new DOMException("stopped", "AbortError")));
		},
	});
	return { ok: true, body };
};

/** The page, whose requests are answered by `next`, and what was asked. */
async function open() {
	const page = { asked: [], next: null };
	const dom = new JSDOM(html, {
		runScripts: "dangerously",
		url: "http://127.0.0.1:8080/",
		beforeParse(window) {
			window.HTMLElement.prototype.scrollIntoView = () => {};
			window.TextDecoderStream = TextDecoderStream;
			window.fetch = async (url, options) => {
				if (!String(url).includes("completions")) return { ok: true, json: async () => ({ model: "m", spans: [] }) };
				page.asked.push(JSON.parse(options.body).messages.map(({ role, content }) => `${role}: ${content}`));
				return page.next(options);
			};
		},
	});
	const { document, KeyboardEvent } = dom.window;
	const [box, button] = [document.querySelector("textarea"), document.querySelector("#send")];
	page.box = box;
	page.shown = () => [...document.querySelectorAll("main p")].map((line) => `${line.className}: ${line.textContent}`);
	page.enter = (text, more) => {
		box.value = text;
		box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...more }));
	};
	page.until = async (what) => {
		while (!what()) await new Promise((done) => setImmediate(done));
	};
	page.idle = () => page.until(() => button.textContent === "Send");
	page.busy = () => page.until(() => button.textContent === "Stop");
	page.stop = () => button.click();
	page.turn = async (text, next) => {
		page.next = next;
		page.enter(text);
		await page.idle();
	};
	return page;
}

const steps = [
	["sends on Enter, and not while an input method composes", async () => {
		const page = await open();
		page.next = answer("ho");
		for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
			page.enter("にほん", composing);
			assert.equal(page.box.value, "にほん");
		}
		page.enter("two lines", { shiftKey: true });
		assert.deepEqual([page.asked, page.box.value], [[], "two lines"]);
		page.enter("日本");
		await page.idle();
		assert.deepEqual([page.asked, page.box.value], [[["user: 日本"]], ""]);
	}],
	["tells whole turns, and leaves those out that failed", async () => {
		for (const failed of [
			refusal,
			unreachable,
			() => stream(piece("half"), event({ error: { message: "the engine has stopped" } })),
			() => stream(piece("half")),
			() => stream(event("[DONE]")),
		]) {
			const page = await open();
			await page.turn("one", answer("first"));
			await page.turn("two", failed);
			assert.equal(page.box.value, "two");
			assert.ok(!page.shown().some((line) => /^assistant[^:]*: $/.test(line)), page.shown().join("\n"));
			await page.turn("three", answer("third"));
			await page.turn("four", answer("fourth"));
			assert.deepEqual(page.asked.at(-1), ["user: one", "assistant: first", "user: three", "assistant: third", "user: four"]);
		}
	}],
	["keeps what was said before it was stopped, and nothing of a turn that was stopped before", async () => {
		const page = await open();
		for (const [text, pieces] of [["one", [piece("fir")]], ["two", []]]) {
			page.next = endless(...pieces);
			page.enter(text);
			await page.busy();
			await page.until(() => page.asked.length > 0 && (pieces.length === 0 || page.shown().includes("assistant: fir")));
			page.stop();
			await page.idle();
		}
		await page.turn("three", answer("third"));
		assert.deepEqual(page.asked.at(-1), ["user: one", "assistant: fir", "user: three"]);
	}],
];

for (const [what, show] of steps) {
	try {
		await show();
		console.log(`ok: ${what}`);
	} catch (error) {
		console.error(`FAILED: ${what}\n`, error);
		process.exit(1);
	}
}
process.exit(0);
