// The about view: facts of the recording, its ranks, versions and options, and missing data.

import { el } from "./dom.js";
import { counted, grouped, seconds, share, words } from "./format.js";
import { keyTables } from "./help.js";
import { trace } from "./trace.js";

function section(heading, ...children) {
    return el("section", {}, el("h2", {}, heading), ...children);
}

function facts(pairs) {
    const known = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined);
    return el("dl", {}, ...known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
}

function table(heads, rows) {
    return el("table", { class: "figures" },
        el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, String(cell)))))));
}

/** A state with a mark, so that it does not depend on colour. */
function status(good, text) {
    return el("p", { class: good ? "status good" : "status bad" }, el("b", {}, good ? "✓ " : "⚠ "), text);
}

function losses() {
    const { about } = trace;
    const list = [];
    for (const rank of about.ranks) {
        for (const [name, count] of Object.entries(rank.dropped)) list.push([named(rank), words(name), grouped(count)]);
        for (const note of rank.notes) list.push([named(rank), note, ""]);
    }
    for (const [what, count] of Object.entries(about.capped)) list.push(["this page", words(what), grouped(count)]);
    return list.length === 0
        ? status(true, "Nothing was dropped, capped or damaged.")
        : el("div", {}, status(false, `${counted(list.length, "thing")} dropped, capped or damaged.`), table(["Where", "What", "Count"], list));
}

function ranks() {
    return table(["Rank", "Process", "Host", "State", "Recorded", "Steps", "Overhead", "Operators", "Calls"], trace.about.ranks.map((rank) => [
        `${rank.side ? `${rank.side}: ` : ""}${rank.rank} of ${rank.world}`, rank.pid, rank.host, rank.state, seconds(rank.recorded),
        rank.steps_source === "none" ? "none found" : `${rank.steps} (${rank.steps_source})`,
        rank.overhead === null ? "not measured" : `${seconds(rank.overhead)}, ${share(rank.overhead, rank.recorded)}`,
        `${rank.operators}: ${rank.operators_reason}`, rank.calls,
    ]));
}

function backward() {
    const { backward } = trace.about;
    if (!backward.autograd) return null;
    const misses = Object.entries(backward.misses).map(([name, count]) => `${words(name)} ${grouped(count)}`).join(", ");
    return section("Backward time", facts([
        ["Autograd nodes", seconds(backward.autograd)],
        ["Attributed to forward calls", `${seconds(backward.attributed)}${backward.coverage === null ? "" : ` (${(100 * backward.coverage).toFixed(1)} %)`}`],
        ["AccumulateGrad, of no call", seconds(backward.accumulate)],
        ["In the engine itself", seconds(backward.engine)],
        ["Without a forward call", misses],
    ]));
}

function special() {
    const { special, open } = trace.about;
    return [
        special.length > 0 && section("Special regions",
            table(["What", "Where", "Calls", "Time"], special.slice(0, 200).map((each) => [each.what, each.where, grouped(each.calls), seconds(each.time)]))),
        open.length > 0 && section("Open when the recording ended",
            table(["Rank", "Thread", "Call", "For"], open.slice(0, 400).map((each) => [each.rank, each.thread, each.where, seconds(each.age)]))),
    ].filter(Boolean);
}

/** Findings of the pipeline report, and their limits. */
function pipeline() {
    const { findings, notes } = trace.about;
    if (findings.length + notes.length === 0) return null;
    return section("The pipeline", el("ul", { class: "findings" }, ...findings.map((text) => el("li", {}, text))),
        ...notes.map((text) => el("p", { class: "quiet" }, text)));
}

function commands() {
    return ["before", "after"].map((side) => [`Command ${side}`, trace.about.ranks.find((rank) => rank.side === side)?.command.join(" ")]);
}

/** Changes, as the lines of `fastdispatch diff`. */
function changes() {
    const { changes: lines } = trace.about;
    return lines === undefined ? null : section("What changed", el("pre", { tabindex: "0", class: "lines" }, lines.join("\n")));
}

/** `rank 3`; of a comparison `before: rank 3`. */
function named(rank) {
    return `${rank.side ? `${rank.side}: ` : ""}rank ${rank.rank}`;
}

function mount(host) {
    const { about } = trace;
    const first = about.ranks[0];
    host.append(el("div", { class: "scroller prose" }, ...[changes(), pipeline()].filter(Boolean),
        section("The recording", facts([
            ["File", about.path],
            ...(trace.compared ? commands() : [["Command", first?.command.join(" ")]]),
            ["100 %", trace.compared ? `the greater of both, ${trace.compared.per}, path by path` : `${seconds(about.whole)}: threads "${about.whole_role}" of ${counted(about.ranks.length, "rank")}`],
            ["Step", about.step && !trace.compared ? seconds(about.step) : ""],
            ["Timeline", trace.compared ? "in the page of each recording (fastdispatch html)" : ""],
            ["Content", `${counted(trace.nodes.rows, "function or operator", "functions and operators")}, ${counted(trace.count, "path")}`],
        ])),
        section("Dropped, capped or damaged", losses()),
        section("Ranks", ranks()),
        trace.compared ? "" : section("Threads", table(["Thread", "How many", "Time"], about.threads.map((thread) => [thread.role, thread.count, seconds(thread.self)]))),
        ...[backward()].filter(Boolean), ...special(),
        section("Versions", facts(Object.entries(about.versions))),
        section("Options", facts(Object.entries(about.options).map(([name, value]) => [words(name), value]))),
        section("Keys", el("div", { class: "keys" }, ...keyTables()))));
}

function update() {}

export const about = { id: "about", title: "About", mount, update };
