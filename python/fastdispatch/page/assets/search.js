// Which functions the search and the filters mean, and what share of everything they are.

import { saidOf } from "./change.js";
import { state } from "./state.js";
import { byNode, figures, trace, weight } from "./trace.js";

let folded = null; // keys in lower case

/** One byte a node: 1 where it is meant. null where nothing is asked for. */
export function matches({ query = true } = {}) {
    const words = query ? state.query.toLowerCase().split(/\s+/).filter(Boolean) : [];
    if (words.length === 0 && !state.package && !state.kind && !state.said) return null;
    const { nodes } = trace;
    folded ??= nodes.key.map((key, node) => `${key} ${nodes.package[node]}`.toLowerCase());
    return Uint8Array.from(folded, (text, node) => Number(
        words.every((word) => text.includes(word))
        && (!state.package || nodes.package[node] === state.package)
        && (!state.kind || nodes.kind[node] === state.kind)
        && (!state.said || isSaid(node)),
    ));
}

function isSaid(node) {
    const words = saidOf(node);
    return state.said === "changed" ? words.length > 0 : words.includes(state.said);
}

/** `{ functions, value, whole }`: how many match, and their figure, each path once. */
export function found(matched) {
    const { total, whole } = figures();
    let value = 0;
    for (let at = 0; at < trace.count; at++) {
        const c = trace.order[at];
        if (!matched[trace.contexts.node[c]]) continue;
        value += total[c];
        at = trace.end[c] - 1;
    }
    return { functions: matched.reduce((sum, one) => sum + one, 0), value, whole };
}

/** Nodes by the chosen weight, those that match and have the least share. */
export function listed() {
    const matched = matches();
    const { total, whole } = byNode(weight().id);
    const calls = byNode("calls").own;
    const least = (state.min / 100) * whole;
    const rows = [];
    let hidden = 0;
    for (let node = 0; node < trace.nodes.rows; node++) {
        if ((matched && !matched[node]) || (state.phase && !total[node] && !calls[node])) continue;
        if (total[node] < least) hidden += 1;
        else rows.push(node);
    }
    return { rows, hidden };
}
