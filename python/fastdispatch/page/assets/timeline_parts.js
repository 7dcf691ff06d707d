// Parts of the timeline that do not depend on its window: names, colours, arrows, the picture in small.

import { variable } from "./dom.js";
import { jobName, lines, nodeOf } from "./lanes.js";
import { label, trace } from "./trace.js";

const JOBS = ["forward", "backward", "send", "receive", "load", "reduce", "optimizer"]; // by colour: 1, 2, ...

/** A time with enough digits to distinguish it from the next mark. */
export function marked(time, step) {
    if (time === 0) return "0";
    const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, each]) => Math.abs(time) >= each) ?? ["ns", 1];
    return `${(time / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
}

export function placeOf(lane) {
    const kind = { jobs: "pipeline ", asynchronous: "asynchronous work of ", stream: "" }[lane.kind] ?? "thread ";
    return `rank ${trace.ranks[lane.rank].rank} · ${kind}${lane.name}`;
}

/** Everything in small: every lane is a band. */
export function small(paint, width, height) {
    const colours = Array.from({ length: 8 }, (_, index) => variable(`--package-${index}`));
    const scale = width / (lines.end - lines.begin);
    const rowsOf = (lane) => Math.min(lane.depth, 24) + 1;
    const row = height / lines.lanes.reduce((sum, lane) => sum + rowsOf(lane), 0);
    let top = 0;
    for (const lane of lines.lanes) {
        const last = new Float64Array(25).fill(-1);
        for (let i = lane.from; i < lane.to; i++) {
            const depth = lines.depth[i];
            const x = (lines.start[i] - lines.begin) * scale;
            const wide = lines.duration[i] * scale;
            if (depth >= 24 || (wide < 0.5 && x - last[depth] < 0.5)) continue;
            last[depth] = x;
            paint.fillStyle = colours[colourOf(i)];
            paint.fillRect(x, top + depth * row, Math.max(wide, 0.5), Math.max(row - 0.2, 0.3));
        }
        top += row * rowsOf(lane);
    }
}

export function colourOf(slice) {
    const job = lines.job[slice];
    const node = nodeOf(slice);
    return job >= 0 ? JOBS.indexOf(lines.jobs.kind[job]) + 1 : node >= 0 ? trace.nodeColour[node] : 0;
}

export function arrow(paint, [x0, y0], [x1, y1]) {
    const bend = Math.max(20, Math.abs(x1 - x0) / 3);
    paint.beginPath();
    paint.moveTo(x0, y0);
    paint.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    paint.stroke();
    paint.beginPath();
    paint.moveTo(x1, y1);
    paint.lineTo(x1 - 7, y1 - 4);
    paint.lineTo(x1 - 7, y1 + 4);
    paint.fill();
}

export function nameOf(slice) {
    if (lines.job[slice] >= 0) return jobName(lines.job[slice]);
    const node = nodeOf(slice);
    if (node < 0) return "<lost>";
    const module = trace.contexts.module[lines.context[slice]];
    return module >= 0 && trace.modules.rows ? `${label(node)}  ${trace.modules.path[module]}` : label(node);
}
