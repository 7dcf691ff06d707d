// Frames of the flame: contexts joined by function and module pattern, from callers to callees or the other way round.
// Frames are created on demand: { id, parent, node, value, own, calls, instances, module }, and in a page of two
// recordings before and after.

import { figureSides } from "./change.js";
import { figures, isFolded, isFoldedNode, rankOf, trace, weight } from "./trace.js";
import { state } from "./state.js";

/** From callers to callees. Repeats of a module (blocks.0, blocks.1, ...) are one frame if `join`. */
class Callees {
    constructor(join) {
        this.of = new Int32Array(trace.count); // the row of each context
        this.first = []; // a context of each row
        this.parent = [];
        this.instances = [];
        this.gather(join);
    }

    gather(join) {
        const { contexts, modules, nodes } = trace;
        const patterns = new Map();
        const place = Array.from({ length: modules.rows }, (_, module) => {
            const name = join ? `${modules.class[module]} ${modules.pattern[module]}` : module;
            if (!patterns.has(name)) patterns.set(name, patterns.size + 1);
            return patterns.get(name);
        });
        const found = new Map();
        const seen = new Set();
        for (let c = 0; c < trace.count; c++) {
            const parent = contexts.parent[c] < 0 ? 0 : this.of[contexts.parent[c]] + 1;
            if (isFolded(c)) {
                this.of[c] = parent - 1;
                continue;
            }
            const module = contexts.module[c];
            const key = (parent * nodes.rows + contexts.node[c]) * (modules.rows + 1) + (module < 0 ? 0 : place[module] ?? 0);
            let row = found.get(key);
            if (row === undefined) {
                row = this.first.length;
                found.set(key, row);
                this.first.push(c);
                this.parent.push(parent - 1);
                this.instances.push(0);
            }
            this.of[c] = row;
            const instance = row * (modules.rows + 1) + module + 1;
            if (module >= 0 && !seen.has(instance)) {
                seen.add(instance);
                this.instances[row] += 1;
            }
        }
        this.below = Array.from(this.first, () => null);
        this.roots = [];
        for (let row = 0; row < this.first.length; row++) {
            const parent = this.parent[row];
            if (parent < 0) this.roots.push(row);
            else (this.below[parent] ??= []).push(row);
        }
        const [thread] = this.roots; // a single thread has no row
        const alone = this.roots.length === 1 && nodes.kind[contexts.node[this.first[thread]]] === "thread" && this.below[thread] !== null;
        this.skipped = alone ? thread : -1;
        if (alone) this.roots = this.below[thread];
    }

    /** Figures by row, for the current weight and phase. */
    weigh() {
        const { own, total, whole } = figures();
        const calls = figures("calls").own;
        const count = this.first.length;
        this.own = new Float64Array(count);
        this.total = new Float64Array(count);
        this.calls = new Float64Array(count);
        for (let c = 0; c < trace.count; c++) {
            this.own[this.of[c]] += own[c];
            if (isFolded(c)) continue;
            this.total[this.of[c]] += total[c];
            this.calls[this.of[c]] += calls[c];
        }
        this.whole = whole;
        this.all = this.skipped < 0 ? null : this.total[this.skipped]; // with its own time
        const sum = (column, all) => {
            const sums = new Float64Array(count);
            for (let c = 0; c < trace.count; c++) if (all || !isFolded(c)) sums[this.of[c]] += column[c];
            return sums;
        };
        this.sides = figureSides(weight().id)?.map((side) => ({ own: sum(side.own, true), total: sum(side.total) })) ?? null;
    }

    frame(row, parent) {
        return {
            before: this.sides?.[0].total[row], after: this.sides?.[1].total[row],
            id: row, parent, node: trace.contexts.node[this.first[row]], module: trace.contexts.module[this.first[row]],
            value: this.total[row], own: this.own[row], calls: this.calls[row], instances: this.instances[row],
        };
    }

    children(frame) {
        const rows = frame === null ? this.roots : this.below[frame.id];
        frame ??= { children: this.top };
        frame.children ??= sorted((rows ?? []).map((row) => this.frame(row, frame.id === undefined ? null : frame)));
        if (rows === this.roots) this.top = frame.children;
        return frame.children;
    }

    /** Frames from the root to the one with this id; empty if it does not exist. */
    path(id) {
        const rows = [];
        for (let row = id === "" ? -1 : Number(id); row >= 0 && row < this.first.length && row !== this.skipped; row = this.parent[row]) rows.unshift(row);
        return descend(this, rows, (frame, row) => frame.id === row);
    }

    address(frame) {
        return String(frame.id);
    }
}

/** From callees to callers: a root per function, as wide as its self value; children are its callers. */
class Callers {
    constructor(callees) {
        this.callees = callees;
    }

    weigh() {
        this.whole = this.callees.whole;
        this.top = null;
    }

    children(frame) {
        if (frame === null) {
            this.top ??= this.gathered(null, this.everything());
            return this.top;
        }
        frame.children ??= this.gathered(frame, frame.members.map(([row, ...figures]) => [this.callees.parent[row], ...figures]));
        return frame.children;
    }

    everything() {
        const { own, calls, sides } = this.callees;
        const members = [];
        for (let row = 0; row < own.length; row++) if (own[row] > 0) members.push([row, own[row], calls[row], sides?.[0].own[row] ?? 0, sides?.[1].own[row] ?? 0]);
        return members;
    }

    gathered(parent, members) {
        const { callees } = this;
        const frames = new Map();
        for (const member of members) {
            const [row, value, calls, before, after] = member;
            if (row < 0) continue;
            const node = trace.contexts.node[callees.first[row]];
            if (!frames.has(node)) {
                const module = trace.contexts.module[callees.first[row]];
                frames.set(node, { id: node, parent, node, module, value: 0, own: 0, calls: 0, before: 0, after: 0, instances: 0, members: [] });
            }
            const frame = frames.get(node);
            if (patternOf(frame.module) !== patternOf(trace.contexts.module[callees.first[row]])) frame.module = -1;
            frame.value += value;
            frame.calls += calls;
            frame.before += before;
            frame.after += after;
            frame.instances = Math.max(frame.instances, callees.instances[row]);
            frame.members.push(member);
        }
        for (const frame of frames.values()) if (parent === null) frame.own = frame.value;
        return sorted([...frames.values()]);
    }

    path(address) {
        const nodes = address === "" ? [] : address.split(".").map(Number);
        return descend(this, nodes, (frame, node) => frame.node === node);
    }

    address(frame) {
        const nodes = [];
        for (let at = frame; at !== null; at = at.parent) nodes.unshift(at.node);
        return nodes.join(".");
    }
}

/** The address of the heaviest frame of the last function, below the others in this order; empty without such a frame. */
export function locate(keys) {
    const nodes = keys.map((key) => trace.nodes.key.indexOf(key)).filter((node) => node >= 0 && !isFoldedNode(node));
    const frames = forest(false);
    const { first, parent, total } = frames;
    let best = -1;
    for (let row = 0; row < first.length; row++) {
        if (best >= 0 && total[row] <= total[best]) continue;
        let wanted = nodes.length - 1;
        if (trace.contexts.node[first[row]] !== nodes[wanted]) continue;
        for (let at = row; at >= 0 && wanted >= 0; at = parent[at]) if (trace.contexts.node[first[at]] === nodes[wanted]) wanted -= 1;
        if (wanted < 0) best = row;
    }
    return best < 0 ? "" : String(best);
}

function patternOf(module) {
    return module >= 0 && trace.modules.rows ? trace.modules.pattern[module] : "";
}

function sorted(frames) {
    return frames.filter((frame) => frame.value > 0).sort((a, b) => b.value - a.value || a.id - b.id);
}

function descend(forest, steps, fits) {
    const path = [];
    for (const step of steps) {
        const next = forest.children(path.at(-1) ?? null).find((frame) => fits(frame, step));
        if (next === undefined) break;
        path.push(next);
    }
    return path;
}

const made = new Map();
let weighed = "";

/** The forest of the current state. */
export function forest(reverse = state.reverse) {
    const name = `${state.join} ${state.plumbing}`;
    if (!made.has(name)) {
        const callees = new Callees(state.join);
        made.set(name, [callees, new Callers(callees)]);
    }
    const [callees, callers] = made.get(name);
    const now = `${name} ${weight().id} ${state.phase} ${rankOf()} ${state.thread}`;
    if (weighed !== now) {
        callees.top = undefined;
        callees.weigh();
        callers.weigh();
        weighed = now;
    }
    return reverse ? callers : callees;
}
