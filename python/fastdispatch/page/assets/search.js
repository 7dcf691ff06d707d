// Functions that match the search and the filters, and their share.

import { changesOf } from "./change.js";
import { state } from "./state.js";
import { byNode, figures, isFoldedNode, trace, weight } from "./trace.js";

let folded = null; // keys in lower case

/** One byte per node: 1 if it matches. null without a search or filter. */
export function matches({ query = true } = {}) {
    const words = query ? state.query.toLowerCase().split(/\s+/).filter(Boolean) : [];
    if (words.length === 0 && !state.package && !state.kind && !state.changes) return null;
    const { nodes } = trace;
    folded ??= nodes.key.map((key, node) => `${key} ${nodes.package[node]}`.toLowerCase());
    return Uint8Array.from(folded, (text, node) => Number(
        words.every((word) => text.includes(word))
        && (!state.package || nodes.package[node] === state.package)
        && (!state.kind || nodes.kind[node] === state.kind)
        && (!state.changes || isChanged(node)),
    ));
}

function isChanged(node) {
    const words = changesOf(node);
    return state.changes === "changed" ? words.length > 0 : words.includes(state.changes);
}

/** `{ functions, folded, value, whole }`: number of matches, of folded ones, and their figure, each path once. */
export function found(matched) {
    const { total, whole } = figures();
    let value = 0;
    for (let at = 0; at < trace.count; at++) {
        const c = trace.order[at];
        if (!matched[trace.contexts.node[c]]) continue;
        value += total[c];
        at = trace.end[c] - 1;
    }
    return { functions: matched.reduce((sum, one) => sum + one, 0), folded: matched.reduce((sum, one, node) => sum + Number(one && isFoldedNode(node)), 0), value, whole };
}

/** Nodes by the selected weight that match and have the minimum share. */
export function listed() {
    const matched = matches();
    const { total, whole } = byNode(weight().id);
    const calls = byNode("calls").own;
    const least = (state.min / 100) * whole;
    const rows = [];
    let hidden = 0;
    for (let node = 0; node < trace.nodes.rows; node++) {
        if ((matched && !matched[node]) || isFoldedNode(node) || (state.phase && !total[node] && !calls[node])) continue;
        if (total[node] < least) hidden += 1;
        else rows.push(node);
    }
    return { rows, hidden };
}
