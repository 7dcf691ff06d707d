// Nested groups of functions: package -> file -> class -> function. Each group is one box of the graph, or is unfolded
// into its members.

import { figureSides } from "./change.js";
import { state } from "./state.js";
import { figures, isFoldedNode, parents, trace, weight } from "./trace.js";

/** { id, parent, label, level, node (of a function, else -1), colour, inside, functions } */
let groups = null;
let leafOf; // group of the function of each node; -1: none, a thread

export function allGroups() {
    if (groups === null) build();
    return groups;
}

function build() {
    const { nodes } = trace;
    groups = [];
    const found = new Map();
    leafOf = new Int32Array(nodes.rows).fill(-1);
    const add = (parent, label, level, node, colour) => {
        const key = `${parent}\n${level}\n${level === "function" ? node : label}`;
        if (!found.has(key)) {
            found.set(key, groups.length);
            groups.push({ id: groups.length, parent, label, level, node, colour, inside: [], functions: 0 });
            if (parent >= 0) groups[parent].inside.push(groups.length - 1);
        }
        return found.get(key);
    };
    for (let node = 0; node < nodes.rows; node++) {
        if (nodes.kind[node] === "thread") continue;
        const colour = trace.nodeColour[node];
        let at = add(-1, nodes.package[node], "package", -1, colour);
        if (nodes.file[node]) at = add(at, nodes.file[node], "file", -1, colour);
        if (nodes.class[node]) at = add(at, nodes.class[node], "class", -1, colour);
        leafOf[node] = add(at, nodes.name[node], "function", node, colour);
        for (let group = leafOf[node]; group >= 0; group = groups[group].parent) groups[group].functions += 1;
    }
}

export function opened() {
    return new Set(state.open.split(".").filter(Boolean).map(Number).filter((id) => allGroups()[id]?.inside.length > 0));
}

/** `state.open` with these groups unfolded. */
export function openText(ids) {
    return [...ids].sort((a, b) => a - b).join(".");
}

export function pathOf(group) {
    const path = [];
    for (let at = group; at >= 0; at = allGroups()[at].parent) path.unshift(at);
    return path;
}

export function leaf(node) {
    allGroups();
    return node >= 0 && node < leafOf.length ? leafOf[node] : -1;
}

/** The drawn group of each context; -1: none. */
export function drawnOf() {
    const open = opened();
    const ofLeaf = Int32Array.from(allGroups(), ({ id }) => pathOf(id).find((at) => !open.has(at)) ?? id);
    const ofNode = Int32Array.from(leafOf, (group, node) => (isFoldedNode(node) || group < 0 ? -1 : ofLeaf[group]));
    return { ofNode, ofContext: Int32Array.from(trace.contexts.node, (node) => ofNode[node]) };
}

/** Edges between groups, `{ from, to, calls, value, before, after }`; nested calls of the same edge count once in its value. */
export function edgesBetween(ofContext) {
    const { order, end } = trace;
    const callerOf = parents();
    const { total } = figures();
    const sides = figureSides(weight().id);
    const calls = figures("calls").own;
    const count = groups.length;
    const edges = new Map();
    for (let at = 0; at < trace.count; at++) {
        const c = order[at];
        const to = ofContext[c];
        const from = callerOf[c] < 0 ? -1 : ofContext[callerOf[c]];
        if (from < 0 || to < 0 || from === to) continue;
        const key = from * count + to;
        let edge = edges.get(key);
        if (edge === undefined) {
            edge = { from, to, calls: 0, value: 0, before: 0, after: 0, until: 0 };
            edges.set(key, edge);
        }
        edge.calls += calls[c];
        if (at >= edge.until) {
            edge.value += total[c];
            edge.before += sides?.[0].total[c] ?? 0;
            edge.after += sides?.[1].total[c] ?? 0;
            edge.until = end[c];
        }
    }
    return [...edges.values()];
}
