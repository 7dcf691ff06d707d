// The page: tabs, search, filters, and the current view.

import { block } from "./blocks.js";
import { compares } from "./change.js";
import { button, el, options } from "./dom.js";
import { counted, figure, share } from "./format.js";
import { details } from "./details.js";
import { flame } from "./flame.js";
import { found, matches } from "./search.js";
import { graph } from "./graph.js";
import { begin, listen, reset, restore, set, state } from "./state.js";
import { table } from "./table.js";
import { modules } from "./modules.js";
import { overview } from "./overview.js";
import { source } from "./source.js";
import { timeline } from "./timeline.js";
import { open, openRanks, rankList, rankOf, trace, weight } from "./trace.js";
import { help } from "./help.js";
import { hideTip } from "./tip.js";

// In the order of their tabs. A view has id, title, mount(host), update(), and, if not every page has it, load(block),
// which returns whether this page has it.
const views = [overview, flame, graph, table, modules, timeline, source];

const LEAST = [0, 0.1, 0.5, 1, 2, 5, 10];

const parts = Object.fromEntries(["tabs", "weight", "query", "found", "package", "kind", "phase", "rank", "thread", "plumbing", "changes", "min", "help", "theme", "reset", "views", "details", "legend"]
    .map((name) => [name, document.getElementById(name)]));

const hosts = new Map(); // of the views that were opened
let present = [];

function names(list) {
    return [...new Set(list)].sort();
}

function fillChoices() {
    options(parts.weight, trace.weights.map(({ id, label }) => [id, label]), weight().id);
    options(parts.package, [["", "any package"], ...trace.packages.map((name) => [name, name.slice(0, 60)])], state.package);
    options(parts.kind, [["", "any kind"], ...names(trace.nodes.kind ?? []).map((name) => [name, name])], state.kind);
    const used = new Set(trace.contexts.phase);
    const phases = trace.about.phases.filter((_, index) => used.has(index));
    options(parts.phase, [["", "any phase"], ...phases.map((name) => [name, name])], state.phase);
    if (compares()) options(parts.changes, [["", "changed or not"], ["changed", "changed"], ...trace.compared.changes.map((name) => [name, name])], state.changes);
    document.getElementById("rank-label").hidden = !trace.byRank;
    options(parts.rank, [["-1", "all ranks"], ...rankList().map(({ rank }, place) => [String(place), `rank ${rank}`])], String(rankOf()));
    document.getElementById("thread-label").hidden = trace.threads.length < 2;
    const idle = trace.threads.filter((thread) => thread.idle).length;
    options(parts.thread, [["", idle > 0 ? "busy threads" : "all threads"], ...(idle > 0 ? [["*", "all threads"]] : []), ...trace.threads.map(({ role }) => [role, role.slice(0, 40)])], state.thread);
    document.getElementById("changes-label").hidden = !compares();
    options(parts.min, LEAST.map((percent) => [String(percent), percent ? `≥ ${percent} %` : "any share"]), String(state.min));
}

function fillTabs() {
    parts.tabs.replaceChildren(...present.map((view, index) => button(view.title, () => set({ view: view.id }), {
        role: "tab", id: `tab-${view.id}`, title: `${view.title} (${index + 1})`,
    })));
}

function showTabs() {
    for (const view of present) {
        const tab = document.getElementById(`tab-${view.id}`);
        tab.setAttribute("aria-selected", String(view.id === state.view));
        tab.tabIndex = view.id === state.view ? 0 : -1;
    }
}

function showMatches() {
    const matched = matches();
    if (matched === null) {
        parts.found.textContent = "";
        return;
    }
    const { functions, folded, value, whole } = found(matched);
    parts.found.textContent = `${counted(functions, "function")}${folded > 0 ? `, ${folded} of them plumbing` : ""} · ${figure(value, weight().unit)} · ${share(value, whole)}`;
}

/** The legend of a comparison. */
function changeLegend() {
    const names = [["less-3", "▼ half or less, gone"], ["less-2", "▼ a quarter less"], ["less-1", "▼ less"], ["same", "as before"],
        ["more-1", "▲ more"], ["more-2", "▲ a third more"], ["more-3", "▲ twice or more, new"]];
    const [before, after] = trace.compared.names;
    parts.legend.replaceChildren(el("span", {}, `${before} → ${after}, ${trace.compared.per}:`.slice(0, 200)),
        ...names.map(([name, text]) => el("span", {}, el("i", { class: `swatch tone-${name}` }), text)));
}

function legend() {
    if (compares()) {
        changeLegend();
        return;
    }
    const seen = new Map();
    for (const name of trace.packages) {
        const colour = trace.colourOf(name);
        if (name !== "threads" && (colour > 0 || !seen.has(0))) seen.set(colour, colour > 0 ? name : "other");
    }
    const entries = [...seen].sort(([a], [b]) => (a || 99) - (b || 99));
    parts.legend.replaceChildren(...entries.map(([colour, name]) => el("span", {}, el("i", { class: `swatch package-${colour}` }), name.slice(0, 40))));
}

function current() {
    return present.find(({ id }) => id === state.view) ?? present[0];
}

/** Update the current view; it is created on first use. */
function render() {
    const view = current();
    for (const [id, host] of hosts) host.hidden = id !== view.id;
    let host = hosts.get(view.id);
    if (host === undefined) {
        host = el("section", { class: "view", id: `view-${view.id}`, role: "tabpanel", "aria-labelledby": `tab-${view.id}` });
        hosts.set(view.id, host);
        parts.views.append(host);
        view.mount(host);
    }
    document.body.dataset.view = view.id;
    parts.details.hidden = view.id === "overview" || state.node < 0;
    view.update();
    details(parts.details);
}

function changed(names) {
    hideTip();
    if (names.has("theme")) showTheme();
    if (parts.query.value !== state.query) parts.query.value = state.query;
    for (const name of ["package", "kind", "phase", "rank", "thread", "changes", "min"]) parts[name].value = String(state[name]);
    parts.plumbing.checked = state.plumbing;
    parts.weight.value = weight().id;
    showTabs();
    showMatches();
    render();
}

function keys(event) {
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.key === "Enter" && typing === parts.query && state.view === "overview") set({ view: "flame" });
    if (event.key === "Escape" && typing) {
        typing.blur();
        return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
        parts.query.focus();
        parts.query.select();
        event.preventDefault();
    }
    const plain = event.target.closest("button, a, summary, [tabindex]:not(canvas)") === null;
    if (plain || (event.key.length === 1 && event.key !== " ")) current().key?.(event);
    if (event.key === "?") help();
    if (event.key === "p") set({ plumbing: !state.plumbing, zoom: "" });
    const view = present[Number(event.key) - 1];
    if (view) set({ view: view.id });
}

function walkTabs(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = present.findIndex(({ id }) => id === state.view);
    const view = present[(at + step + present.length) % present.length];
    set({ view: view.id });
    document.getElementById(`tab-${view.id}`).focus();
    event.stopPropagation();
}

const { dataset } = document.documentElement;

/** Set the selected theme, or that of the system; on paper always the light one. */
function showTheme() {
    const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    dataset.theme = dataset.print ? "light" : state.theme || system;
}

/** Print pictures in full height. */
function print(on) {
    if (on) dataset.print = "yes";
    else delete dataset.print;
    showTheme();
    render();
}

function connect() {
    parts.query.addEventListener("input", () => set({ query: parts.query.value }));
    parts.weight.addEventListener("change", () => set({ weight: parts.weight.value }));
    for (const name of ["package", "kind", "phase", "changes", "thread"]) parts[name].addEventListener("change", () => set({ [name]: parts[name].value }));
    for (const name of ["min", "rank"]) parts[name].addEventListener("change", () => set({ [name]: Number(parts[name].value) }));
    parts.plumbing.addEventListener("change", () => set({ plumbing: parts.plumbing.checked, zoom: "" }));
    parts.help.addEventListener("click", help);
    parts.theme.addEventListener("click", () => set({ theme: dataset.theme === "dark" ? "light" : "dark" }));
    parts.reset.addEventListener("click", reset);
    parts.tabs.addEventListener("keydown", walkTabs);
    document.addEventListener("keydown", keys);
    window.addEventListener("beforeprint", () => print(true));
    window.addEventListener("afterprint", () => print(false));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed(new Set(["theme"])));
}

/** Resolve when the document has been painted; a hidden page is not painted. */
function painted() {
    return document.hidden ? Promise.resolve() : new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
}

/** Perform the search of the address first, then load the blocks of single views and draw the current view. */
async function start() {
    open(await block("data-core"));
    if (compares()) begin({ view: "table" });
    restore();
    showTheme();
    parts.query.value = state.query;
    showMatches();
    await painted();
    performance.mark("searched");
    openRanks(await block("data-ranks"));
    const every = await Promise.all(views.map(async (view) => (view.load ? await view.load(block) : true)));
    present = views.filter((_, index) => every[index]);
    if (!present.some(({ id }) => id === state.view)) state.view = present[0].id;
    fillChoices();
    fillTabs();
    legend();
    connect();
    listen(changed);
    changed(new Set());
    performance.mark("drawn");
    document.body.dataset.ready = "yes";
}

start().catch((error) => {
    parts.views.replaceChildren(el("p", { class: "status bad" }, `⚠ This page cannot be shown: ${error.message}`));
    throw error;
});
