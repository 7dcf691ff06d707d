// The panel beside the views: everything about the selected function.

import { bothText, changeMark, compares, figureSides, nodeSides, swatch, verdict } from "./change.js";
import { button, el } from "./dom.js";
import { callsText, figure, share } from "./format.js";
import { places } from "./places.js";
import { set, state } from "./state.js";
import { byNode, figures, isFolded, label, modulesOf, parents, trace, weight } from "./trace.js";

const NEIGHBOURS = 8;

/** Callers and callees with calls and the chosen figure, each `[node, calls, value, before, after]`, the heaviest
 * first. */
function neighbours(node) {
    const { contexts, order, end } = trace;
    const callerOf = parents();
    const { total } = figures();
    const sides = figureSides(weight().id);
    const calls = figures("calls").own;
    const callers = new Map();
    const callees = new Map();
    const add = (map, other, c, value) => {
        const entry = map.get(other) ?? [other, 0, 0, 0, 0];
        entry[1] += calls[c];
        if (value) {
            entry[2] += total[c];
            entry[3] += sides?.[0].total[c] ?? 0;
            entry[4] += sides?.[1].total[c] ?? 0;
        }
        map.set(other, entry);
    };
    let outside = 0; // in `order`: end of the outermost call of the node
    for (let at = 0; at < trace.count; at++) {
        const c = order[at];
        if (isFolded(c)) continue;
        const parent = callerOf[c];
        if (parent >= 0 && contexts.node[parent] === node) add(callees, contexts.node[c], c, true);
        if (contexts.node[c] !== node) continue;
        if (parent >= 0) add(callers, contexts.node[parent], c, at >= outside);
        outside = Math.max(outside, end[c]);
    }
    return [callers, callees].map((map) => [...map.values()].sort((a, b) => b[2] - a[2] || b[1] - a[1] || a[0] - b[0]));
}

function listOf(heading, list, whole, unit) {
    const rows = list.slice(0, NEIGHBOURS).map(([node, calls, value, before, after]) => el("li", {},
        el("button", { type: "button", class: "name", onclick: () => set({ node }), title: trace.nodes.key[node].slice(0, 500) },
            swatch(node), label(node).slice(0, 120)),
        el("span", { class: "quiet" }, `${callsText(calls)} · ${value ? `${compares() ? bothText(before, after, unit) : figure(value, unit)} · ${share(value, whole)}` : "0 %"} `,
            compares() ? changeMark(before, after) : "")));
    const rest = list.length - rows.length;
    return el("section", {}, el("h3", {}, heading),
        list.length === 0 ? el("p", { class: "quiet" }, "none") : el("ul", { class: "plain" }, ...rows),
        rest > 0 ? el("p", { class: "quiet" }, `and ${rest} more`) : null);
}

function sums(node) {
    const rows = [];
    for (const { id, label: name, unit, whole } of trace.weights) {
        const { own, total } = byNode(id);
        if (!own[node] && !total[node]) continue;
        if (compares()) {
            rows.push(...changed(id, name, unit, node));
            continue;
        }
        const value = id === "calls" ? own[node] : total[node];
        const itself = id !== "calls" && own[node] ? ` (itself ${figure(own[node], unit)})` : "";
        rows.push(el("dt", {}, name), el("dd", {}, `${figure(value, unit)}${itself}`, id === "calls" ? "" : el("span", { class: "quiet" }, ` ${share(value, whole)}`)));
    }
    return el("dl", {}, ...rows);
}

/** Of two recordings: figures before and after; for times self and total. */
function changed(id, name, unit, node) {
    const sides = nodeSides(id, state.phase);
    const parts = unit === "ns" && id !== "async" ? [["own", `${name}, self`], ["total", `${name}, total`]] : [[id === "calls" ? "own" : "total", name]];
    return parts.flatMap(([part, title]) => {
        const [before, after] = sides.map((side) => side[part][node]);
        return before || after ? [el("dt", {}, title), el("dd", {}, `${bothText(before, after, unit)} `, changeMark(before, after))] : [];
    });
}

export function details(host) {
    const { node } = state;
    if (node < 0 || node >= trace.nodes.rows) {
        host.replaceChildren();
        return;
    }
    const { nodes } = trace;
    const { unit } = weight();
    const { whole } = byNode(weight().id);
    const [callers, callees] = neighbours(node);
    const modules = modulesOf(node).map(([pattern, count]) => (count > 1 ? `${pattern} × ${count}` : pattern));
    host.replaceChildren(
        el("header", {}, el("h2", { dir: "auto" }, label(node).slice(0, 300)), button("×", () => set({ node: -1 }), { "aria-label": "Clear the selection", class: "close" })),
        el("p", { class: "key" }, nodes.key[node].slice(0, 2000)),
        el("p", {}, swatch(node), `${nodes.kind[node]} of ${nodes.package[node] || "no package"}`.slice(0, 200)),
        nodes.origin?.[node] ? el("p", {}, el("span", { class: "quiet" }, "computes "), nodes.origin[node]) : "",
        compares() && verdict(node) ? el("p", {}, el("b", {}, verdict(node))) : "",
        places(node),
        modules.length > 0 ? el("p", {}, el("span", { class: "quiet" }, "modules "), modules.slice(0, 12).join(", ") + (modules.length > 12 ? `, and ${modules.length - 12} more` : "")) : "",
        sums(node),
        listOf("Callers", callers, whole, unit), listOf("Callees", callees, whole, unit));
}
