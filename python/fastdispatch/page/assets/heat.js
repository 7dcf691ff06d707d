// Ranks as heat maps: rank x phase and rank x step, in the order of rank, host, coordinates or time.

import { el, fitted, options, variable } from "./dom.js";
import { counted, seconds, share } from "./format.js";
import { set } from "./state.js";
import { hideTip, showTip } from "./tip.js";
import { trace } from "./trace.js";

const PARTS = ["forward", "backward", "optimizer", "data", "communication", "gc", "other"];
const SHORT = { communication: "comm.", optimizer: "optim." };
const COORDINATES = ["pipe", "data", "model"];
const [HEAD, LEFT, TALLEST, SHORTEST] = [22, 128, 20, 3]; // pixels
const NOTABLE = 0.2; // a smaller difference, as part of the longest step, does not get the full colour
const MOST_LINES = 170; // of more ranks each line has several
const UNEQUAL = 1.1; // steps of ranks that wait for each other are equally long

function column(table, name) {
    return table[name] ?? new Float64Array(table.rows);
}

/** Rows of the map: rank, label, values per column. */
function gathered({ ranks, steps }) {
    const parts = PARTS.filter((name) => ranks[name]);
    const host = column(ranks, "host");
    const place = COORDINATES.map((name) => column(ranks, `at_${name}`));
    const rows = Array.from(column(ranks, "rank"), (rank, index) => {
        const at = place.map((numbers) => numbers[index]);
        const phases = parts.map((name) => ranks[name][index]);
        return { index, rank, host: host[index] || "", at, phases, step: phases.reduce((sum, time) => sum + time, 0), steps: new Map() };
    });
    for (let i = 0; i < steps.rows; i++) rows[column(steps, "rank")[i]].steps.set(column(steps, "number")[i], 1000 * column(steps, "time")[i]);
    return { parts, rows };
}

function sorts(rows) {
    const list = [["rank", "rank"]];
    if (new Set(rows.map(({ host }) => host)).size > 1) list.push(["host", "host, then rank"]);
    if (rows.some(({ at }) => at.some((number) => number >= 0))) list.push(["place", "coordinate (pipe, data, model)"]);
    return [...list, ["time", "step time"]];
}

function compared(order) {
    const byPlace = (a, b) => a.at.map((number, i) => number - b.at[i]).find((difference) => difference !== 0) ?? 0;
    const by = { rank: () => 0, host: (a, b) => a.host.localeCompare(b.host, "en", { numeric: true }), place: byPlace, time: (a, b) => b.step - a.step }[order];
    return (a, b) => by(a, b) || a.rank - b.rank;
}

function named({ rank, host, at, members }, order) {
    if (members && order === "rank") return `ranks ${rank}–${members.at(-1).rank}`;
    if (order === "host") return `${host.slice(0, 11)} ${rank}`;
    if (order === "place") return `${rank} (${at.map((number) => (number < 0 ? "–" : number)).join(", ")})`;
    return `rank ${rank}`;
}

/** Rows as few lines: neighbours are one line, which shows the largest value of each column. */
function lines(rows) {
    const size = Math.ceil(rows.length / MOST_LINES);
    if (size < 2) return rows;
    return Array.from({ length: Math.ceil(rows.length / size) }, (_, i) => ({ ...rows[i * size], members: rows.slice(i * size, (i + 1) * size) }));
}

/** The row of a line with the largest value. */
function slowest(line, value) {
    return line.members ? line.members.reduce((most, row) => ((value(row) ?? -1) > (value(most) ?? -1) ? row : most)) : line;
}

/** A map on a canvas. `columns`: `{ name, value(row) }`; a cell is redder with its distance from the minimum of its column,
 * as a share of the longest step: cells with little time stay pale. */
class Heat {
    constructor(title, columns, spread) {
        const shown = columns.map((each) => ({ ...each, slowest: (line) => slowest(line, each.value), value: (line) => each.value(slowest(line, each.value)) }));
        Object.assign(this, { columns: shown, spread, rows: [], every: [], order: "rank" });
        this.canvas = el("canvas", { role: "img", "aria-label": title, onmousemove: (event) => this.tip(event), onmouseleave: hideTip, onclick: (event) => this.click(event) });
        this.element = el("figure", {}, el("figcaption", {}, title), this.canvas);
        new ResizeObserver(() => { if (this.canvas.offsetParent !== null) this.draw(); }).observe(this.element);
    }

    show(rows, order) {
        Object.assign(this, { rows: lines(rows), every: rows, order });
        this.draw();
    }

    draw() {
        const { rows, columns } = this;
        const width = Math.max(this.element.clientWidth, 240);
        this.height = Math.max(SHORTEST, Math.min(TALLEST, Math.floor(520 / rows.length)));
        this.width = (width - LEFT) / columns.length;
        const paint = fitted(this.canvas, width, HEAD + rows.length * this.height + 2);
        const [ink, faint, heat, shade, ground] = ["--ink", "--faint", "--heat", "--shade", "--ground"].map(variable);
        paint.font = `11px ${variable("--text")}`;
        paint.textBaseline = "middle";
        const bounds = columns.map(({ value }) => limits(rows.map(value)));
        const longest = this.spread ? 0 : bounds[0][1]; // of the column "step"
        const all = limits(rows.flatMap((row) => columns.map(({ value }) => value(row))));
        let free = 0; // of the row of names
        columns.forEach(({ name }, c) => {
            const wide = paint.measureText(name).width;
            const x = Math.min(LEFT + c * this.width, width - wide - 2);
            if (x < free) return;
            paint.fillStyle = ink;
            paint.fillText(name, x + 1, HEAD / 2);
            free = x + wide + 8;
        });
        const every = Math.ceil(13 / this.height);
        rows.forEach((row, r) => {
            const y = HEAD + r * this.height;
            paint.fillStyle = faint;
            if (r % every === 0) paint.fillText(named(row, this.order), 2, y + this.height / 2);
            columns.forEach(({ value }, c) => {
                const time = value(row);
                const [least, most] = this.spread ? all : bounds[c];
                const x = LEFT + c * this.width;
                paint.globalAlpha = 1;
                paint.fillStyle = time === undefined ? ground : shade;
                paint.fillRect(x, y, Math.max(this.width - (this.width > 4 ? 1 : 0), 1), Math.max(this.height - (this.height > 4 ? 1 : 0), 1));
                if (time === undefined) return;
                paint.globalAlpha = 0.06 + 0.94 * ((time - least) / Math.max(most - least, NOTABLE * (longest || most), 1));
                paint.fillStyle = heat;
                paint.fillRect(x, y, Math.max(this.width - (this.width > 4 ? 1 : 0), 1), Math.max(this.height - (this.height > 4 ? 1 : 0), 1));
                const dark = paint.globalAlpha > 0.55;
                paint.globalAlpha = 1;
                if (this.height < 13 || this.width < 46) return;
                paint.fillStyle = dark ? ground : ink;
                paint.fillText(seconds(time), x + 4, y + this.height / 2);
            });
        });
    }

    at(event) {
        const area = this.canvas.getBoundingClientRect();
        const row = this.rows[Math.floor((event.clientY - area.top - HEAD) / this.height)];
        return { row, column: this.columns[Math.floor((event.clientX - area.left - LEFT) / this.width)] };
    }

    tip(event) {
        const { row, column: found } = this.at(event);
        const time = row && found?.value(row);
        if (time === undefined) {
            hideTip();
            return;
        }
        const one = found.slowest(row);
        const among = row.members ? `the largest of ${counted(row.members.length, "row")}` : "";
        const values = this.every.map(found.value).filter((value) => value !== undefined).sort((a, b) => a - b);
        const median = values[values.length >> 1];
        const place = one.at.some((number) => number >= 0) ? `pipe, data, model: ${one.at.map((number) => (number < 0 ? "–" : number)).join(", ")}` : "";
        showTip(event, [`rank ${one.rank} · ${found.title ?? found.name}`, seconds(time), among, `median of the ranks ${seconds(median)}${median ? `, ${time >= median ? "+" : "−"}${share(Math.abs(time - median), median)}` : ""}`, one.host, place]);
    }

    click(event) {
        const { row } = this.at(event);
        if (row && trace.byRank) set({ view: "flame", rank: row.index, zoom: "" });
    }
}

function limits(values) {
    const known = values.filter((value) => value !== undefined);
    return [Math.min(...known), Math.max(...known)];
}

/** Both maps with their order; null for one rank. */
export function rankMaps(tables) {
    const { parts, rows } = gathered(tables);
    if (rows.length < 2) return null;
    const phases = parts.map((name, i) => ({ name: SHORT[name] ?? name, title: name, value: (row) => row.phases[i] }));
    const numbers = [...new Set(rows.flatMap((row) => [...row.steps.keys()]))].sort((a, b) => a - b);
    const maps = [new Heat("Time of a step by rank and phase; redder: more than on other ranks", [{ name: "step", title: "step", value: (row) => row.step }, ...phases], false),
        numbers.length > 0 && new Heat("Time of each step by rank", numbers.map((number) => ({ name: String(number), title: `step ${number}`, value: (row) => row.steps.get(number) })), true)].filter(Boolean);
    const choice = el("select", { onchange: () => show(choice.value) });
    const most = Math.ceil(rows.length / MOST_LINES) * (tables.perRow ?? 1); // ranks per line
    const show = (order) => {
        const sorted = [...rows].sort(compared(order));
        for (const map of maps) map.show(sorted, order);
    };
    options(choice, sorts(rows), "rank");
    show("rank");
    const steps = rows.map(({ step }) => step).sort((a, b) => a - b);
    const median = steps[steps.length >> 1];
    const slowest = rows.reduce((most, row) => (row.step > most.step ? row : most));
    return el("div", { class: "maps" },
        el("p", {}, el("label", {}, el("span", { class: "quiet" }, "Sorted by "), choice),
            el("span", { class: "quiet" }, `  median step ${seconds(median)}${slowest.step > UNEQUAL * median ? `; slowest rank ${slowest.rank} with ${seconds(slowest.step)}` : ""}`)),
        ...(most > 1 ? [el("p", { class: "quiet" }, `A line has up to ${counted(most, "rank")}, neighbours in this order, and shows the largest value of them. Point at it to see of which rank${tables.perRow > 1 ? ` (the first of ${tables.perRow})` : ""}.`)] : []),
        ...maps.map((map) => map.element));
}
