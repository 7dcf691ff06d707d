// Parts of the timeline that do not depend on its window: names, colours, arrows, the picture in small.

import { variable } from "./dom.js";
import { jobName, lines, nodeOf } from "./lanes.js";
import { label, trace } from "./trace.js";

// As in the drawing of `pipeline report --svg` (page/plan_svg.py, pipeline_gantt.py): computations have the hue of their
// micro-batch, forward light and backward dark; the others are one colour each.
const COMPUTES = { F: "F", forward: "F", B: "B", backward: "B", I: "B", W: "W" };
const OTHERS = { LM: "#8d6e63", load: "#8d6e63", RT: "#00838f", RD: "#00838f", reduce: "#00838f", OPT: "#c25308", optimizer: "#c25308" };
const TRANSFER = "#37474f"; // sends, receives

/** Red, green and blue, 0 to 1, of a hue in degrees. */
function rgb(hue, saturation, lightness) {
    const range = saturation * Math.min(lightness, 1 - lightness);
    return [0, 8, 4].map((n) => (n + hue / 30) % 12).map((k) => lightness - range * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
}

function hex(colour) {
    return `#${colour.map((part) => Math.round(255 * part).toString(16).padStart(2, "0")).join("")}`;
}

/** A dark colour on which white text is readable. */
function dark(hue) {
    const luminance = (colour) => colour.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    let lightness = 0.42;
    while (luminance(rgb(hue, 0.62, lightness)) > 0.16) lightness -= 0.02;
    return hex(rgb(hue, 0.62, lightness));
}

/** Fill and text of a job; null for other slices. */
export function jobColours(slice) {
    const job = lines.job[slice];
    if (job < 0) return null;
    const kind = lines.jobs.kind[job];
    const number = lines.jobs.micro_batch ? lines.jobs.micro_batch[job] : 0;
    const hue = 360 * ((Math.max(number, 0) * 0.381966) % 1);
    const compute = COMPUTES[kind];
    if (compute === "F") return [hex(rgb(hue, 0.62, 0.83)), "#111"];
    if (compute === "W") return [hex(rgb(hue, 0.4, 0.68)), "#111"];
    if (compute === "B") return [dark(hue), "#fff"];
    return kind === "ITER" ? ["#cfd5dc", "#111"] : [OTHERS[kind] ?? (/^(S|R|send|receive)/.test(kind) ? TRANSFER : "#9e9e9e"), "#fff"];
}

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
            paint.fillStyle = jobColours(i)?.[0] ?? colours[colourOf(i)];
            paint.fillRect(x, top + depth * row, Math.max(wide, 0.5), Math.max(row - 0.2, 0.3));
        }
        top += row * rowsOf(lane);
    }
}

export function colourOf(slice) {
    const node = nodeOf(slice);
    return node >= 0 ? trace.nodeColour[node] : 0;
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
