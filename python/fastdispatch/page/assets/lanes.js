// Lanes of the timeline: slices with absolute times, positions of lanes, the slice at a point.

import { trace } from "./trace.js";

export const ROW = 15;
export const HEAD = 20; // of a lane
const TALLEST = 100; // rows
const FOLDED = 3;

/** Filled by `take`: start, duration, depth, context, job, open, launch (typed arrays), and lanes. */
export const lines = { lanes: [], count: 0, begin: 0, end: 1, steps: null, jobs: null, flows: null };

/** The time of two steps of the first rank, in the middle; without steps, of everything. */
export function training() {
    const { steps, begin, end } = lines;
    const mine = Array.from({ length: steps.rows }, (_, i) => i).filter((i) => (steps.rank ? steps.rank[i] : 0) === (steps.rank ? steps.rank[0] : 0));
    if (mine.length === 0) return { from: begin, to: end };
    const first = Math.max(0, (mine.length >> 1) - 1);
    const [from, to] = [mine[first], mine[Math.min(first + 1, mine.length - 1)]].map((i, at) => (at === 0 ? steps.start?.[i] ?? 0 : steps.end[i]));
    return to > from ? { from: Math.max(from, begin), to: Math.min(to, end) } : { from: begin, to: end };
}

/** Tables of the block "data-timeline". */
export function take({ values, tables }) {
    const { slices, lanes } = tables;
    const count = slices.rows;
    const zeros = new Uint8Array(count);
    Object.assign(lines, { count, jobs: tables.jobs, steps: tables.steps, flows: tables.flows, values });
    for (const name of ["duration", "depth", "context", "job", "open", "launch", "rank"]) lines[name] = slices[name] ?? zeros;
    lines.start = new Float64Array(count);
    let row = 0;
    for (let lane = 0; lane < lanes.rows; lane++) {
        let time = lanes.base ? lanes.base[lane] : 0;
        const from = row;
        let depth = 0;
        for (let i = 0; i < lanes.size[lane]; i++, row++) {
            time += slices.start ? slices.start[row] : 0;
            lines.start[row] = time;
            depth = Math.max(depth, lines.depth[row]);
        }
        lines.lanes.push({ from, to: row, depth: depth + 1, kind: lanes.kind[lane], name: lanes.name[lane], rank: lanes.rank ? lanes.rank[lane] : 0, folded: false });
    }
    const stages = lines.lanes.filter(hasStage);
    if (stages.length > 0) { // the pipeline first, of all ranks; threads are folded below it
        for (const lane of lines.lanes) lane.folded = lane.kind === "thread";
        lines.lanes = [...stages, ...lines.lanes.filter((lane) => !hasStage(lane))];
    }
    lines.plain = Uint16Array.from(lines.depth);
    lines.folded = foldedDepths();
    lines.begin = Infinity;
    lines.end = -Infinity;
    for (let i = 0; i < count; i++) {
        lines.begin = Math.min(lines.begin, lines.start[i]);
        lines.end = Math.max(lines.end, lines.start[i] + lines.duration[i]);
    }
}

const HIDDEN = 0xffff;

/** Depths of slices without plumbing; folded slices have none. */
function foldedDepths() {
    const levels = new Uint16Array(trace.count); // plumbing at and above each context
    for (let c = 0; c < trace.count; c++) {
        const parent = trace.contexts.parent[c];
        levels[c] = (parent >= 0 ? levels[parent] : 0) + trace.plumbing[c];
    }
    const depths = Uint16Array.from(lines.plain);
    for (const lane of lines.lanes) {
        for (let i = lane.from; i < lane.to && lane.kind === "thread"; i++) {
            const context = lines.context[i];
            if (context >= 0 && context < trace.count) depths[i] = trace.plumbing[context] ? HIDDEN : Math.max(0, depths[i] - levels[context]);
        }
    }
    return depths;
}

/** Show or fold plumbing. */
export function refold(plumbing) {
    const depth = plumbing ? lines.plain : lines.folded;
    if (lines.depth === depth) return;
    lines.depth = depth;
    for (const lane of lines.lanes) {
        lane.depth = 1;
        for (let i = lane.from; i < lane.to; i++) if (depth[i] !== HIDDEN) lane.depth = Math.max(lane.depth, depth[i] + 1);
    }
}

/** Set the position of each lane; returns the total height. */
export function stack(top) {
    let y = top;
    for (const lane of lines.lanes) {
        lane.y = y;
        lane.rows = Math.min(lane.depth, lane.folded ? FOLDED : TALLEST);
        y += HEAD + lane.rows * ROW + 6;
    }
    return y;
}

export function laneAt(y) {
    return lines.lanes.find((lane) => y >= lane.y && y < lane.y + HEAD + lane.rows * ROW);
}

/** The slice at a time in the row of a lane; -1: none. */
export function sliceAt(lane, y, time, near) {
    const depth = Math.floor((y - lane.y - HEAD) / ROW);
    let best = -1;
    for (let i = lane.from; i < lane.to; i++) {
        if (lines.depth[i] !== depth || lines.start[i] > time + near) continue;
        if (lines.start[i] + lines.duration[i] >= time - near && (best < 0 || lines.duration[i] <= lines.duration[best] || lines.start[i] <= time)) best = i;
    }
    return best;
}

export function laneOf(slice) {
    return lines.lanes.find((lane) => slice >= lane.from && slice < lane.to);
}

/** The function of a slice; -1: none. */
export function nodeOf(slice) {
    const context = lines.context[slice];
    return context >= 0 && context < trace.count ? trace.contexts.node[context] : -1;
}

const RECEIVES = new Set(["receive", "RA", "RG"]);
const SHORT = { forward: "F", backward: "B", load: "L", send: "S", receive: "R", reduce: "G", optimizer: "O" };

/** "F3" */
export function jobName(job) {
    const { jobs } = lines;
    const number = jobs.micro_batch ? jobs.micro_batch[job] : 0;
    const kind = jobs.kind[job];
    return `${SHORT[kind] ?? kind}${number >= 0 ? number : ""}`;
}

/** Whether a lane has the jobs of a stage, not those around them. */
export function hasStage({ kind, name }) {
    return kind === "jobs" && name.startsWith("stage");
}

/** Whether a slice is idle time of a stage: it waits for data or receives them. */
export function waits(slice) {
    const job = lines.job[slice];
    return job >= 0 && RECEIVES.has(lines.jobs.kind[job]);
}

/** Intervals `[start, end]` between the first and last job of a lane in which no job except receives ran. */
export function bubbles(lane) {
    if (lane.bubbles) return lane.bubbles;
    lane.bubbles = [];
    let end = lines.start[lane.from];
    let last = end;
    for (let i = lane.from; i < lane.to; i++) {
        last = Math.max(last, lines.start[i] + lines.duration[i]);
        if (waits(i)) continue;
        if (lines.start[i] > end) lane.bubbles.push([end, lines.start[i]]);
        end = Math.max(end, lines.start[i] + lines.duration[i]);
    }
    if (last > end) lane.bubbles.push([end, last]);
    lane.idle = lane.bubbles.reduce((sum, [from, to]) => sum + to - from, 0) / Math.max(last - lines.start[lane.from], 1);
    return lane.bubbles;
}
