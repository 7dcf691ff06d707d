// The end of the overview: the recorded program, the cost of the recording, and missing parts.

import { compares } from "./change.js";
import { el } from "./dom.js";
import { counted, grouped, seconds, words } from "./format.js";
import { trace } from "./trace.js";

function table(heads, rows) {
    return el("table", { class: "figures" },
        el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, String(cell)))))));
}

/** `3 of 8`; of a comparison `before: 3 of 8`. */
function named({ side, rank, world }) {
    return `${side ? `${side}: ` : ""}${rank} of ${world}`;
}

/** Dropped, capped or damaged data. A mark makes the state visible without colours. */
function losses() {
    const { about } = trace;
    const list = about.ranks.flatMap((rank) => [
        ...Object.entries(rank.dropped).map(([name, count]) => [named(rank), words(name), grouped(count)]),
        ...rank.notes.map((note) => [named(rank), note, ""])]);
    for (const [what, count] of Object.entries(about.capped)) list.push(["this page", words(what), grouped(count)]);
    const status = (name, mark, text) => el("p", { class: `status ${name}` }, el("b", {}, mark), text);
    return list.length === 0
        ? [status("good", "✓ ", "Nothing was dropped, capped or damaged.")]
        : [status("bad", "⚠ ", `${counted(list.length, "thing")} dropped, capped or damaged.`), table(["Rank", "What", "Count"], list)];
}

function costs() {
    return table(["Rank", "Host", "State", "Recorded", "Steps"], trace.about.ranks.map((rank) => [
        named(rank), rank.host, rank.state, seconds(rank.recorded),
        rank.steps_source === "none" ? "none found" : `${rank.steps} (${rank.steps_source})`]));
}

export function recorded() {
    const { about, compared } = trace;
    const whole = compares() ? `the greater of both, ${compared.per}, path by path` : `${seconds(about.whole)}: threads "${about.whole_role}" of ${counted(about.ranks.length, "rank")}`;
    const commands = new Map(about.ranks.map(({ side, command }) => [side ? `Command ${side}` : "Command", command.join(" ")]));
    const rows = [["File", about.path], ...commands, ["100 %", whole], ["Versions", Object.entries(about.versions).map((pair) => pair.join(" ")).join(" · ")],
        ["Content", `${counted(trace.nodes.rows, "function or operator", "functions and operators")}, ${counted(trace.count, "path")}`]];
    const open = about.open.slice(0, 400).map((each) => [each.rank, each.thread, each.where, seconds(each.age)]);
    return el("section", {}, el("h3", {}, "Recording"),
        el("dl", {}, ...rows.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
        costs(), ...losses(),
        open.length > 0 ? el("details", {}, el("summary", { class: "quiet" }, `${counted(about.open.length, "call")} open at the end`), table(["Rank", "Thread", "Call", "For"], open)) : null);
}
