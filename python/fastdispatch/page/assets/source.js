// The source view: position of the selected function, and its text if the page includes it.

import { swatch } from "./change.js";
import { el } from "./dom.js";
import { counted } from "./format.js";
import { matches } from "./search.js";
import { placeOf, places, sources } from "./places.js";
import { set, state } from "./state.js";
import { byNode, label, trace } from "./trace.js";

const LISTED = 300;

let place;
let list;

function text(node) {
    const source = sources.texts.get(node);
    if (source === undefined) {
        const why = sources.any ? "its file was not found when the page was made, or has changed since" : "the page was made without --source";
        return el("p", { class: "quiet" }, `No source text: ${why}.`);
    }
    const { line } = placeOf(node);
    return el("pre", { tabindex: "0" }, ...source.split("\n").map((code, i) => el("div", {},
        el("span", { class: "line", "aria-hidden": "true" }, String(line + i)), code || " ")));
}

function shown(node) {
    if (node < 0 || node >= trace.nodes.rows) return [el("p", { class: "quiet" }, "Select a function.")];
    if (placeOf(node) === null) return [el("h2", {}, label(node).slice(0, 300)), el("p", { class: "quiet" }, `No Python source: ${trace.nodes.kind[node]}.`)];
    return [el("h2", {}, label(node).slice(0, 300)), places(node), text(node)];
}

/** Show the functions with a file that match the search, those of the project first, and return the shown function:
 * the selected one, or the first. */
function fill() {
    const matched = matches();
    const { nodes } = trace;
    const time = byNode("time").own;
    const all = Array.from({ length: nodes.rows }, (_, node) => node).filter((node) => nodes.line[node] && (!matched || matched[node]));
    const first = (node) => 2 * Number(sources.texts.has(node)) + Number(nodes.package[node] === "project");
    all.sort((a, b) => first(b) - first(a) || time[b] - time[a] || a - b);
    const chosen = state.node < 0 ? all[0] ?? -1 : state.node;
    list.replaceChildren(
        el("p", { class: "quiet" }, `${counted(all.length, "function")} with a file${all.length > LISTED ? `, the first ${LISTED} shown` : ""}`),
        ...all.slice(0, LISTED).map((node) => el("button", { type: "button", class: `name entry${node === chosen ? " selected" : ""}`, onclick: () => set({ node }) },
            swatch(node), el("b", {}, label(node).slice(0, 120)), el("span", { class: "quiet" }, `${nodes.file[node].slice(-60)}:${nodes.line[node]}`))));
    return chosen;
}

function mount(host) {
    place = el("div", { class: "scroller prose" });
    list = el("nav", { class: "scroller list", "aria-label": "Functions" });
    host.append(el("div", { class: "columns" }, list, place));
}

function update() {
    const at = list.scrollTop;
    const node = fill();
    list.scrollTop = at;
    place.replaceChildren(...shown(node));
}

async function load(block) {
    const found = await block("data-source");
    if (found !== null) {
        Object.assign(sources.paths, found.values.paths);
        sources.any = found.values.any;
        const { texts } = found.tables;
        for (let row = 0; row < texts.rows; row++) sources.texts.set(texts.node ? texts.node[row] : 0, texts.text[row]);
    }
    return true;
}

export const source = { id: "source", title: "Source", load, mount, update };
