// The ranks view: one function on every rank, or the functions in which ranks differ most.

import { swatch } from "./change.js";
import { el } from "./dom.js";
import { counted, figure, share } from "./format.js";
import { rankMaps } from "./heat.js";
import { matches } from "./search.js";
import { set, state } from "./state.js";
import { isFoldedNode, join, label, trace } from "./trace.js";

const FIGURES = [["total", "Time, total", "ns"], ["self", "Time, self", "ns"], ["calls", "Calls", "count"]];
const LISTED = 200;
const LEAST = 0.002; // of the slowest rank's main thread: smaller functions are not compared

let place;
let maps = null; // heat maps of phases and steps
let byFigure = null; // per figure one column per rank, by node

function columns() {
    if (byFigure !== null) return byFigure;
    byFigure = new Map(FIGURES.map(([id]) => [id, trace.ranks.map(({ table }) => {
        const cells = new Float64Array(trace.nodes.rows);
        for (let row = 0; row < table.rows; row++) cells[table.node ? table.node[row] : 0] = table[id] ? table[id][row] : 0;
        return cells;
    })]));
    return byFigure;
}

function summary(values) {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length >> 1;
    const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    return { min: sorted[0], median, max: sorted.at(-1), slowest: values.indexOf(sorted.at(-1)) };
}

/** Bars of all ranks in one figure; the slowest one is marked by a word and a line, not by colour alone. */
function strip(node, [id, name, unit]) {
    const values = columns().get(id).map((cells) => cells[node]);
    const { min, median, max, slowest } = summary(values);
    const bars = values.map((value, index) => el("div", { class: `rank${index === slowest && max > min ? " slowest" : ""}`, title: `rank ${trace.ranks[index].rank}: ${figure(value, unit)}` },
        el("span", { class: "quiet" }, String(trace.ranks[index].rank)),
        el("span", { class: "track" }, el("meter-bar", { style: { width: `${max ? (100 * value) / max : 0}%` } }), el("i", { class: "median", style: { left: `${max ? (100 * median) / max : 0}%` } })),
        el("span", { class: "number" }, figure(value, unit)),
        el("span", {}, index === slowest && max > min ? (id === "calls" ? "◀ most" : "◀ slowest") : "")));
    return el("section", { class: "strip" }, el("h3", {}, name),
        el("p", {}, `min ${figure(min, unit)} · median ${figure(median, unit)} · max ${figure(max, unit)} (rank ${trace.ranks[slowest].rank}) · spread ${share(max - min, median || max)} of the median`),
        ...bars);
}

/** Functions by the time between the slowest rank and the median. */
function apart() {
    const totals = columns().get("total");
    const matched = matches();
    const whole = Math.max(...totals.map((cells) => cells.reduce((most, value) => Math.max(most, value), 0)));
    const list = [];
    for (let node = 0; node < trace.nodes.rows; node++) {
        if ((matched && !matched[node]) || isFoldedNode(node)) continue;
        const values = totals.map((cells) => cells[node]);
        const found = summary(values);
        if (found.max >= LEAST * whole && found.max > found.min) list.push({ node, ...found });
    }
    return list.sort((a, b) => (b.max - b.median) - (a.max - a.median) || a.node - b.node);
}

function listing() {
    const list = apart();
    const row = (each) => el("tr", { class: each.node === state.node ? "selected" : "" },
        el("th", { scope: "row" }, el("button", { type: "button", class: "name", onclick: () => set({ node: each.node }), title: trace.nodes.key[each.node].slice(0, 500) },
            swatch(each.node), el("b", {}, label(each.node).slice(0, 200)), el("span", { class: "quiet" }, trace.nodes.file[each.node].slice(-80)))),
        ...[each.min, each.median, each.max].map((value) => el("td", { class: "number" }, figure(value, "ns"))),
        el("td", { class: "number" }, `rank ${trace.ranks[each.slowest].rank}`), el("td", { class: "number" }, share(each.max - each.median, each.median || each.max)));
    return el("section", {}, el("h3", {}, "Largest differences between ranks"),
        el("p", { class: "quiet" }, `${counted(list.length, "function")} of at least ${100 * LEAST} % of the slowest rank${list.length > LISTED ? `, the first ${LISTED} shown` : ""}; time in total, by what the slowest rank has above the median. A rank that waits for a slow one is slow where it waits.`),
        el("table", { class: "figures" }, el("thead", {}, el("tr", {}, ...["Function", "Min", "Median", "Max", "Slowest", "Above median"].map((head, i) => el("th", { scope: "col", class: i ? "number" : "" }, head)))),
            el("tbody", {}, ...list.slice(0, LISTED).map(row))));
}

function update() {
    const { node } = state;
    const strips = node >= 0 && node < trace.nodes.rows ? FIGURES.map((each) => strip(node, each)) : [el("p", { class: "quiet" }, "Select a function to see it on every rank.")];
    maps ??= trace.overview ? rankMaps(trace.overview) : null;
    place.replaceChildren(
        el("h2", {}, node >= 0 && node < trace.nodes.rows ? label(node).slice(0, 300) : counted(trace.ranks.length, "rank")),
        el("div", { class: "strips" }, ...strips), ...(node < 0 && maps ? [maps] : []), listing());
}

function mount(host) {
    place = el("div", { class: "scroller prose wide" });
    host.append(place);
}

async function load(block) {
    trace.byRank = (await block("data-ranks"))?.tables ?? null;
    if (trace.compared && trace.byRank) trace.compared.ranks.forEach(({ factors }, place) => join(trace.byRank[`rank${place}`], factors));
    return trace.ranks.length > 1 && trace.ranks.every(({ table }) => table !== undefined);
}

export const ranks = { id: "ranks", title: "Ranks", load, mount, update };
