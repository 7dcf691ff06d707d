// The recording: tables of the page, the tree of contexts, and sums over it.
//
//     context   0 ─┬─ 1 ── 2        parents come before their children
//                  └─ 3             order: 0 1 2 3    end: 4 3 3 4

import { state } from "./state.js";

/** Filled by `open`. */
export const trace = { nodes: null, contexts: null, modules: null, about: null, ranks: [], byRank: null, weights: [], packages: [] };

const COLOURS = 7;
const IDLE = 0.01; // share of its time on a CPU up to which a thread is idle, as in reports
const PLAIN = ["threads", "folded", ""]; // without their own colour

/** Read the tables of the block "data-core". */
export function open({ values, tables }) {
    Object.assign(trace, tables, values);
    const { contexts } = trace;
    trace.count = contexts.rows;
    contexts.parent ??= new Int32Array(contexts.rows);
    contexts.node ??= new Uint8Array(contexts.rows);
    contexts.module ??= new Uint8Array(contexts.rows);
    contexts.phase ??= new Uint8Array(contexts.rows);
    trace.nodes.line ??= new Uint8Array(trace.nodes.rows);
    if (trace.compared) {
        const { time, calls } = trace.compared.factors;
        join(contexts, trace.compared.factors);
        join(trace.per_module, { calls, ops: calls, self: time ?? calls, total: time ?? calls, backward: time ?? calls });
    }
    Object.assign(trace, depthFirst(contexts.parent, contexts.rows));
    listPackages();
    listThreads();
    findPlumbing();
    trace.ranks = trace.about.ranks;
}

function scaled(column, rows, factor) {
    return Float64Array.from(column ?? new Uint8Array(rows), (value) => value * factor);
}

/** Read the figures of each rank from the block "data-ranks", if the page has it. */
export function openRanks(found) {
    trace.byRank = found?.tables ?? null;
    if (trace.compared && trace.byRank) trace.compared.ranks.forEach(({ factors }, place) => join(trace.byRank[`rank${place}`], factors));
}

/** In a page of two recordings: figures per step, and the larger one of both. */
function join(table, figures) {
    for (const [id, factors] of Object.entries(figures)) {
        const [before, after] = ["before", "after"].map((side, i) => scaled(table[`${id}.${side}`], table.rows, factors[i]));
        Object.assign(table, { [`${id}.before`]: before, [`${id}.after`]: after, [id]: after.map((value, row) => Math.max(value, before[row])) });
    }
}

/** Rows in depth-first order: `order`, the `place` of each row in it, and the `end` of all rows below it. */
function depthFirst(parent, count) {
    const size = new Int32Array(count).fill(1);
    for (let row = count - 1; row >= 0; row--) if (parent[row] >= 0) size[parent[row]] += size[row];
    const [order, place, end, free] = Array.from({ length: 4 }, () => new Int32Array(count));
    const roots = [];
    let at = 0; // of the next root
    for (let row = 0; row < count; row++) {
        const above = parent[row];
        place[row] = above < 0 ? at : free[above];
        end[row] = place[row] + size[row];
        order[place[row]] = row;
        free[row] = place[row] + 1;
        if (above >= 0) {
            free[above] = end[row];
        } else {
            at = end[row];
            roots.push(row);
        }
    }
    return { roots, order, place, end };
}

/** Packages by time, with colours, the same as in graphs/dot_default.py: of the packages without a fixed one, the two
 * with most time in Python; the others share one. */
function listPackages() {
    const { nodes, contexts } = trace;
    const figure = contexts.time ?? contexts.calls;
    const sums = new Map();
    const python = new Map();
    for (const name of nodes.package) if (!sums.has(name)) sums.set(name, 0);
    for (let c = 0; c < trace.count; c++) {
        const name = nodes.package[contexts.node[c]];
        const value = figure ? figure[c] : 0;
        sums.set(name, sums.get(name) + value);
        if (["python", "c"].includes(nodes.kind[contexts.node[c]])) python.set(name, (python.get(name) ?? 0) + value);
    }
    const fixed = ["project", "torch", "aten", "autograd", "stdlib"];
    const rest = [...python.keys()].filter((name) => !fixed.includes(name) && !PLAIN.includes(name));
    rest.sort((a, b) => python.get(b) - python.get(a) || (a < b ? -1 : 1));
    const colours = new Map([...fixed, ...rest].slice(0, COLOURS).map((name, index) => [name, index + 1]));
    trace.packages = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a) || (a < b ? -1 : 1));
    trace.colourOf = (name) => colours.get(name) ?? 0;
    trace.nodeColour = Uint8Array.from(nodes.package, trace.colourOf);
}

/** Roles of threads, and the index of that of each context. */
function listThreads() {
    const { contexts, nodes, about } = trace;
    const roles = [...new Set(trace.roots.map((c) => nodes.name[contexts.node[c]]))];
    trace.threads = roles.map((role) => {
        const { cpu, self } = about.threads.find((thread) => thread.role === role) ?? {};
        return { role, idle: role !== about.whole_role && typeof cpu === "number" && cpu <= IDLE * self };
    });
    trace.threadOf = new Uint8Array(trace.count);
    for (const root of trace.roots) {
        const thread = roles.indexOf(nodes.name[contexts.node[root]]);
        for (let at = trace.place[root]; at < trace.end[root]; at++) trace.threadOf[trace.order[at]] = thread;
    }
}

/** Whether each thread is shown: the selected one, all, or those that are not idle. */
export function shownThreads() {
    if (state.thread === "*") return trace.threads.map(() => true);
    if (trace.threads.some(({ role }) => role === state.thread)) return trace.threads.map(({ role }) => role === state.thread);
    return trace.threads.map(({ idle }) => !idle);
}

/** Per context: whether it is plumbing, and its nearest caller that is not. A thread never is. */
function findPlumbing() {
    const { contexts, nodes, count } = trace;
    trace.plumbing = new Uint8Array(count);
    trace.host = new Int32Array(count);
    trace.caller = new Int32Array(count).fill(-1);
    for (let c = 0; c < count; c++) {
        const parent = contexts.parent[c];
        trace.plumbing[c] = parent >= 0 && nodes.plumbing ? nodes.plumbing[contexts.node[c]] : 0;
        trace.host[c] = trace.plumbing[c] ? trace.host[parent] : c;
        if (parent >= 0) trace.caller[c] = trace.host[parent];
    }
}

/** Whether a context, or a function, is folded into its callers. */
export function isFolded(c) {
    return !state.plumbing && trace.plumbing[c] === 1;
}

export function isFoldedNode(node) {
    return !state.plumbing && trace.nodes.plumbing !== undefined && trace.nodes.plumbing[node] === 1;
}

/** The caller of each context. */
export function parents() {
    return state.plumbing ? trace.contexts.parent : trace.caller;
}

/** The selected weight, or the first. */
export function weight() {
    return trace.weights.find(({ id }) => id === state.weight) ?? trace.weights[0] ?? NO_WEIGHT;
}

const NO_WEIGHT = { id: "", label: "nothing", unit: "count", whole: 0 };

const sums = new Map();

/** Ranks with figures per path; in a page of two recordings the common ones. */
export function rankList() {
    return trace.compared ? trace.compared.ranks : trace.ranks;
}

/** The index of the selected rank; -1: all. */
export function rankOf() {
    return trace.byRank && state.rank >= 0 && state.rank < rankList().length ? state.rank : -1;
}

/** Self and total figures of each context, of the selected phase, rank and threads: `{ own, total, whole }`. The own
 * time of folded plumbing is in its callers; calls stay where they are. */
export function figures(id = weight().id, phase = state.phase, rank = rankOf()) {
    const key = `${id} ${phase} ${rank} ${state.thread} ${state.plumbing}`;
    if (!sums.has(key)) sums.set(key, summed(id, phase, rank));
    return sums.get(key);
}

/** 100 % of a rank's time: the threads of the role that is 100 % of all ranks, mostly main. */
function wholeOf(id, total) {
    if (id !== "time") return 0;
    return trace.roots.reduce((sum, c) => sum + (trace.nodes.name[trace.contexts.node[c]] === trace.about.whole_role ? total[c] : 0), 0);
}

function summed(id, phase, rank) {
    const own = new Float64Array(trace.count);
    const total = new Float64Array(trace.count);
    const column = rank < 0 ? trace.contexts[id] : trace.byRank[`rank${rank}`][id];
    const wanted = trace.about.phases.indexOf(phase);
    const threads = shownThreads();
    const moves = !state.plumbing && !/^(calls|resumes)/.test(id);
    for (let c = 0; c < trace.count && column; c++) {
        if ((wanted >= 0 && trace.contexts.phase[c] !== wanted) || !threads[trace.threadOf[c]]) continue;
        own[moves ? trace.host[c] : c] += column[c];
        total[c] = column[c];
    }
    let everything = 0;
    for (let c = trace.count - 1; c >= 0; c--) {
        everything += own[c];
        if (trace.contexts.parent[c] >= 0) total[trace.contexts.parent[c]] += total[c];
    }
    const whole = rank < 0 || trace.compared ? trace.weights.find((each) => each.id === id)?.whole ?? 0 : wholeOf(id, phase ? figures(id, "", rank).total : total);
    return { own, total, whole: whole || everything, everything };
}

/** Figures of groups, `of[context]` (-1: none); a recursion counts once. */
export function grouped(of, count, id = weight().id, phase = state.phase) {
    const { own, total, whole } = figures(id, phase);
    const sum = { own: new Float64Array(count), total: new Float64Array(count), whole };
    const active = new Int32Array(count); // end of the outermost call of a group, in `order`
    for (let at = 0; at < trace.count; at++) {
        const c = trace.order[at];
        const group = of[c];
        if (group < 0) continue;
        sum.own[group] += own[c];
        if (at >= active[group]) {
            sum.total[group] += total[c];
            active[group] = trace.end[c];
        }
    }
    return sum;
}

const tables = new Map();

/** A figure by function. */
export function byNode(id, phase = state.phase) {
    const key = `${id} ${phase} ${rankOf()} ${state.thread} ${state.plumbing}`;
    if (!tables.has(key)) tables.set(key, grouped(trace.contexts.node, trace.nodes.rows, id, phase));
    return tables.get(key);
}

/** The label of a node. */
export function label(node) {
    const { nodes } = trace;
    const className = nodes.class[node];
    return className ? `${className}.${nodes.name[node]}` : nodes.name[node];
}

/** Patterns of the modules that a function ran for, `[pattern, instances]`. */
export function modulesOf(node) {
    const found = new Map();
    for (let c = 0; c < trace.count; c++) {
        const module = trace.contexts.module[c];
        if (trace.contexts.node[c] !== node || module < 0 || !trace.modules.rows) continue;
        const pattern = trace.modules.pattern[module] || trace.modules.class[module];
        if (!found.has(pattern)) found.set(pattern, new Set());
        found.get(pattern).add(module);
    }
    return [...found].map(([pattern, instances]) => [pattern, instances.size]);
}
