// The overview: the training step by phase, findings, hottest paths, ranks, and facts of the recording; of two
// recordings the changes and the facts.

import { compares } from "./change.js";
import { button, el } from "./dom.js";
import { recorded } from "./facts.js";
import { counted, figure, grouped, seconds, share } from "./format.js";
import { locate } from "./forest.js";
import { leaf, openText, opened, pathOf } from "./groups.js";
import { rankMaps } from "./heat.js";
import { set } from "./state.js";
import { label, trace } from "./trace.js";

const NAMES = { gc: "garbage collection" };
const LISTED = 6; // findings
const LEAST = 0.05; // percent of the step: smaller parts are counted, not named

let found = null; // { values, tables } of the block "data-overview"

/** Show a place in the flame: the last function below the others. */
function toFlame(keys) {
    const node = trace.nodes.key.indexOf(keys.at(-1));
    set({ view: "flame", weight: "", query: "", package: "", kind: "", phase: "", thread: "", rank: -1, reverse: false, zoom: "", node });
    set({ zoom: locate(keys) });
}

/** Show a function with its callers and callees in the graph. */
function toGraph(key) {
    const node = trace.nodes.key.indexOf(key);
    set({ view: "graph", weight: "", query: "", phase: "", node, focus: leaf(node), depth: 2, open: openText([...opened(), ...pathOf(leaf(node)).slice(0, -1)]) });
}

/** Links to the place of a finding. */
function places({ key, path }) {
    if (!trace.nodes.key.includes(key)) return [];
    const known = path.filter((each) => trace.nodes.key.includes(each));
    return [button("Flame", () => toFlame(known.length > 0 ? known : [key]), { class: "crumb", title: "Show it in the flame view" }),
        button("Graph", () => toGraph(key), { class: "crumb", title: "Show it with its callers and callees" })];
}

function head() {
    const { about } = trace;
    const { per, window: text } = found.values;
    const title = per === "step" ? `${seconds(about.step)} per step` : `${seconds(about.whole)} recorded`;
    const spread = about.step_count > 1 ? `median of ${counted(about.step_count, "step")}, half of them ${seconds(about.step_low)} to ${seconds(about.step_high)}` : "";
    const apart = about.parts.filter(({ name, time }) => name !== "training" && time > 0)
        .map(({ name, steps, time }) => `${name}${steps ? ` (${steps})` : ""} ${seconds(time)}`);
    return [found.values.gpu ? el("h2", {}, el("strong", {}, found.values.gpu)) : null,
        el("h2", {}, el("strong", {}, title), el("span", { class: "quiet" }, spread)),
        found.values.overload && el("p", {}, found.values.overload),
        el("p", { class: "quiet" }, text ?? `the whole recording, with start-up and first steps${about.whole_reason && about.whole_reason !== "requested" ? `: ${about.whole_reason}` : ""}`,
            text && apart.length > 0 ? `; apart: ${apart.join(", ")}` : "")].filter(Boolean);
}

/** The number of parts without a name below the bar, and their sum. */
function leftOut(parts, whole) {
    if (parts.length === 0) return null;
    const sum = parts.reduce((all, [, time]) => all + time, 0);
    return el("li", { class: "quiet rest", title: parts.map(([name, time]) => `${NAMES[name] ?? name}: ${seconds(time)}`).join("\n") },
        `${counted(parts.length, "part")} below ${LEAST} %: ${share(sum, whole)}, ${seconds(sum)}`);
}

/** The words of uses and causes of a GPU's time, and their colours: blue is busy, orange idle. */
const GPU = { compute: ["compute", "tone-less-3"], communication: ["communication", "phase-communication"], copies: ["copies", "tone-less-1"],
    host: ["idle: the host is late", "tone-more-3"], end: ["idle: end of the step", "tone-more-1"], launch: ["idle: launch latency", "tone-more-2"],
    wait: ["idle: waits for another stream or device", "tone-less-2"], undecided: ["idle: not decided", "tone-same"] };

/** The time of the GPUs as a bar, like that of the step, and the functions in which they are idle. */
function gpuBar() {
    const gpu = trace.about.gpu;
    if (!gpu?.window) return null;
    const shown = Object.entries(GPU).map(([name, [words, colour]]) => [words, gpu[name], colour]).filter(([, time]) => time > 0);
    const text = ([words, time]) => `GPU ${words}: ${share(time, gpu.window)} of ${counted(gpu.busy_steps, "recorded step")}`;
    const late = gpu.places.filter(({ time }) => 100 * time >= gpu.window).slice(0, LISTED);
    const place = ({ where, name, time }) => el("li", {}, trace.nodes.key.includes(where) ? button(name, () => toGraph(where), { class: "name" }) : name,
        el("b", {}, share(time, gpu.window)), el("span", { class: "quiet" }, "idle"));
    return el("div", { class: "step" }, el("h3", {}, "GPU"),
        el("div", { class: "segments", role: "img", "aria-label": shown.map(text).join("; ") },
            ...shown.map((part) => el("span", { class: `segment ${part[2]}`, style: { flexGrow: String(part[1] / gpu.window) }, title: text(part) }))),
        el("ul", { class: "parts" }, ...shown.map((part) => el("li", {}, el("i", { class: `swatch ${part[2]}` }), part[0], el("b", {}, share(part[1], gpu.window)))), ...late.map(place)));
}

/** The step as a bar: one segment per part, named below it. */
function bar() {
    const { parts, per } = found.values;
    const whole = Object.values(parts).reduce((sum, time) => sum + time, 0);
    const shown = Object.entries(parts).filter(([, time]) => time > 0);
    const listed = shown.filter(([, time]) => 100 * time >= LEAST * whole);
    const small = shown.filter((part) => !listed.includes(part));
    if (whole === 0) return el("p", { class: "quiet" }, "No times were recorded: counts only.");
    const phases = trace.about.phases;
    const open = (name) => set({ view: "flame", weight: "", phase: phases.includes(name) ? name : "", zoom: "", query: name === "gc" ? "gc:gen" : name === "communication" ? "c10d" : "" });
    const text = (name, time) => `${NAMES[name] ?? name}: ${seconds(time)}, ${share(time, whole)} of the ${per}`;
    return el("div", { class: "step" },
        el("div", { class: "segments", role: "img", "aria-label": shown.map(([name, time]) => text(name, time)).join("; ") },
            ...shown.map(([name, time]) => button(100 * time > 7 * whole ? NAMES[name] ?? name : "", () => open(name), {
                class: `segment phase-${name}`, style: { flexGrow: String(time / whole) }, title: text(name, time), tabindex: "-1" }))),
        el("ul", { class: "parts" }, ...listed.map(([name, time]) => el("li", {},
            el("button", { type: "button", class: "name", onclick: () => open(name) }, el("i", { class: `swatch phase-${name}` }), NAMES[name] ?? name),
            el("b", {}, share(time, whole)), el("span", { class: "quiet" }, seconds(time)))), leftOut(small, whole)));
}

function finding(each) {
    const { where } = each;
    const gain = each.extent || (each.gain_ns ? `gain up to ${seconds(each.gain_ns)} per step` : "");
    return el("li", { class: `finding ${each.severity}` },
        el("div", { class: "place" }, el("span", { class: "badge" }, each.severity), el("b", {}, each.title), ...places(where)),
        el("p", {}, where.file && where.line ? el("code", {}, `${where.file}:${where.line}`) : "", `${where.called_from ? `, called from your ${where.called_from}` : ""}${where.file && where.line ? " · " : ""}${each.proof}`,
            each.ranks.length > 0 && trace.ranks.length > 1 ? `; ${each.ranks.length < 9 ? `rank ${each.ranks.join(", ")}` : counted(each.ranks.length, "rank")}` : ""),
        el("p", {}, el("span", { class: "quiet" }, gain && `${gain} · `, each.id, ": "), each.advice));
}

function findings() {
    const { findings: list, not_decided: open } = found.values;
    const { findings: sentences, notes } = trace.about;
    const section = el("section", {}, el("h3", {}, "Findings"));
    if (list.length === 0) section.append(el("p", { class: "status good" }, el("b", {}, "✓ "), "None of the detectors found anything that slows this training down."));
    else section.append(el("ol", { class: "plain" }, ...list.slice(0, LISTED).map(finding)));
    if (list.length > LISTED) section.append(el("details", {}, el("summary", {}, `${list.length - LISTED} more`), el("ol", { class: "plain" }, ...list.slice(LISTED).map(finding))));
    if (open.length > 0) {
        section.append(el("details", {}, el("summary", { class: "quiet" }, `${counted(open.length, "detector")} could not decide`),
            el("ul", { class: "findings" }, ...open.map(({ id, reason }) => el("li", {}, `${id}: ${reason}`)))));
    }
    if (sentences.length + notes.length > 0) {
        section.append(el("h3", {}, "The pipeline"), el("ul", { class: "findings" }, ...sentences.map((text) => el("li", {}, text))),
            ...notes.map((text) => el("p", { class: "quiet" }, text)));
    }
    return section;
}

/** DataLoader workers and other processes of the ranks. */
function processes() {
    const { processes: list } = found.values;
    if (list.length === 0) return null;
    return el("section", {}, el("h3", {}, "Other processes"), el("ul", { class: "findings" }, ...list.map((text) => el("li", {}, text.trim()))));
}

/** The end of a path, and the functions of the program above it. */
function path(row, whole, most) {
    const callers = row.within ? [row.within] : row.short.slice(0, -1).filter((name) => name !== "<module>");
    const node = trace.nodes.key.indexOf(row.path.at(-1));
    const instances = row.module && row.instances > 1 ? `${row.module} × ${row.instances}` : row.module;
    return el("tr", {},
        el("th", { scope: "row" }, el("button", { type: "button", class: "name", onclick: () => toFlame(row.path), title: row.path.join("\n").slice(0, 900) },
            el("i", { class: `swatch package-${node >= 0 ? trace.nodeColour[node] : 0}` }), el("b", {}, node >= 0 ? label(node).slice(0, 120) : row.short.at(-1)),
            el("span", { class: "quiet" }, callers.length > 0 ? `in ${callers.slice(-2).join(" › ")}` : "", instances ? `  ${instances}` : ""))),
        el("td", { class: "bar" }, el("meter-bar", { style: { width: `${(45 * row.weight) / (most || 1)}%` } }), share(row.weight, whole)),
        el("td", { class: "number" }, row.self ? seconds(row.self) : ""), el("td", { class: "number" }, grouped(row.calls)));
}

function hottest() {
    const { rows, whole, more, of } = found.values.paths;
    if (rows.length === 0) return null;
    return el("section", {}, el("h3", {}, "Hottest paths"),
        el("table", { class: "figures" }, el("thead", {}, el("tr", {}, ...["Path", `Share of ${{ self: "the time", gpu: "GPU time" }[of] ?? "calls"}`, "Self", "Calls"].map((name, i) => el("th", { scope: "col", class: i > 1 ? "number" : "" }, name)))),
            el("tbody", {}, ...rows.map((row) => path(row, whole, rows[0].weight)))),
        el("p", { class: "quiet" }, more > 0 ? `${counted(more, "more path")}; ` : "", `100 % is ${figure(whole, of === "calls" ? "count" : "ns")} of ${counted(found.values.rank_count, "rank")}`));
}

/** Whether the figures are sums of ranks, and where heat maps are if the page has none. */
function sums(maps) {
    const count = found.values.rank_count;
    if (count === trace.ranks.length) return null;
    const text = `Calls and times of functions are sums of ${counted(count, "rank")}.`;
    if (maps) return el("p", { class: "quiet" }, text);
    return el("p", { class: "quiet" }, `${text} For heat maps of the ranks: `,
        el("code", {}, "fastdispatch merge RUN -o ranks.json && fastdispatch html ranks.json"));
}

/** Changes, as the lines of `fastdispatch diff`. */
function changes() {
    return el("section", {}, el("h3", {}, "What changed"), el("pre", { tabindex: "0", class: "lines" }, trace.about.changes.join("\n")));
}

function step() {
    const maps = rankMaps({ ...found.tables, perRow: found.values.ranks_per_row });
    const pages = [hottest(), maps && el("section", {}, el("h3", {}, counted(found.values.rank_count, "rank")), maps)].filter(Boolean);
    return [...head(), bar(), gpuBar(), sums(maps), findings(), processes(), el("div", { class: pages.length > 1 ? "halves" : "" }, ...pages)];
}

function mount(host) {
    host.append(el("div", { class: "scroller prose wide overview" }, ...(compares() ? [changes()] : step()), recorded()));
}

async function load(block) {
    found = await block("data-overview");
    return true;
}

export const overview = { id: "overview", title: "Overview", load, mount, update() {} };
