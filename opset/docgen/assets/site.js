/* What a page does beyond its text: color scheme, one version at a time, contents that follow, permalinks, copying,
   examples as Python. */
(function () {
"use strict";

const THEMES = ["auto", "light", "dark"], KEY = "opset-theme";

/** Return the text to copy from a block of code: of a terminal session, its commands without prompts. */
function copied(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  if (!lines[0].startsWith("$ ")) return lines.join("\n") + "\n";
  return lines.filter(line => line.startsWith("$ ")).map(line => line.slice(2) + "\n").join("");
}

/** Return the id of the version to show for an anchor: the version around it, else the first one. */
function versionOf(anchor, ids) {
  return ids.find(id => anchor === id || anchor.startsWith(`${id}-`)) || "";
}

/** Return the code of an example, of the parts that python_examples.py describes, and its inputs as they are shown. */
function pythonCode([operator, domain, imports, attributes, inputs, outputs, values], shown) {
  const quote = JSON.stringify, list = items => `[${items.join(", ")}]`;
  const names = all => list(all.map(each => quote(each ? each[0] : "")));
  const info = ([name, type, shape]) => shape
    ? `helper.make_tensor_value_info(${quote(name)}, TensorProto.${type}, ${list(shape)})`
    : `helper.make_value_info(${quote(name)}, ${type})`;
  const dtypes = { FLOAT: "float32", DOUBLE: "float64" };
  const filled = ([, type, , value], text) =>
    value === 1 ? `array(${text}, "${dtypes[type] || type.toLowerCase()}")` : value;
  const given = inputs
    .map((each, position) => each && [...each.slice(0, 3), filled(each, shown[position]), shown[position]])
    .filter(Boolean);
  const words = [quote(operator), names(inputs), names(outputs)];
  if (domain) words.push(`domain=${quote(domain)}`);
  if (attributes) words.push(attributes);
  const opsets = imports.map(([name, version]) => `helper.make_opsetid(${quote(name)}, ${version})`);
  const lines = [
    `node = helper.make_node(${words.join(", ")})`,
    `inputs = ${list(given.map(info))}`,
    `outputs = ${list(outputs.filter(Boolean).map(info))}`,
    'graph = helper.make_graph([node], "example", inputs, outputs)',
    `model = helper.make_model(graph, opset_imports=${list(opsets)})`,
    `print(opset.ReferenceEvaluator(model).run(None, {${given.map(each => `${quote(each[0])}: ${each[3]}`).join(", ")}}))`,
  ];
  if (values) {
    const options = values.map((value, position) => ` --set '${given[position][0]}=${value || given[position][4]}'`);
    lines.push(`save(model, "${operator}.onnx")  # opset run ${operator}.onnx${options.join("")}`);
  }
  const used = new Set(lines.join("\n").match(/\w+/g)), some = all => all.filter(name => used.has(name)).join(", ");
  const numpy = some(["array", "inf", "nan"]);
  return [
    ...(used.has("ml_dtypes") ? ["import ml_dtypes"] : []),
    "import opset",
    ...(numpy ? [`from numpy import ${numpy}`] : []),
    `from onnx import ${some(["TensorProto", "helper", "parser", "save"])}`,
    "", ...lines, "",
  ].join("\n");
}

globalThis.opsetSite = { copied, versionOf, pythonCode };
if (typeof document === "undefined") return;

// A file has no storage in some browsers: the choice then holds for one page.
const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
const store = theme => { try { localStorage.setItem(KEY, theme); } catch { /* as above */ } };
const applyTheme = theme => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};
let theme = THEMES.includes(stored()) ? stored() : "auto";
applyTheme(theme);

function make(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (tag === "button") made.type = "button";
  made.textContent = text;
  return made;
}

function addThemeSwitch(header) {
  const button = make("button", "theme", "");
  const label = () => { button.textContent = `Theme: ${theme}`; };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    applyTheme(theme);
    store(theme);
    label();
  });
  label();
  header.append(button);
}

function addVersionMenu(timeline) {
  const sections = [...document.querySelectorAll("section.version")];
  if (!timeline || sections.length < 2) return;
  const ids = sections.map(section => section.id);
  const links = [...timeline.querySelectorAll("a")];
  const item = make("li", "", "");
  const all = make("button", "all", "All versions");
  item.append(all);
  timeline.querySelector("ol").append(item);
  function show(id) {
    for (const section of sections) section.hidden = id !== "" && section.id !== id;
    for (const link of links) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    all.setAttribute("aria-pressed", String(id === ""));
    // On a phone the menu is one line, which goes on at its sides.
    const list = all.closest("ol"), chosen = list.querySelector("[aria-current]") || all;
    list.scrollLeft = chosen.offsetLeft - list.offsetLeft;
  }
  function follow() {
    const anchor = decodeURIComponent(location.hash.slice(1));
    const id = versionOf(anchor, ids);
    if (!id) return;
    if (!sections.every(section => !section.hidden)) show(id);
    document.getElementById(anchor)?.scrollIntoView();
  }
  all.addEventListener("click", () => show(""));
  // The address may be that of this version already, which then does not change.
  for (const link of links) link.addEventListener("click", () => show(link.hash.slice(1)));
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => show(""));
  show(ids[0]);
  follow();
}

function followContents(side) {
  const links = new Map([...(side?.querySelectorAll("a") || [])].map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  const parts = [...links.keys()].map(id => document.getElementById(id)).filter(Boolean);
  if (!parts.length || typeof IntersectionObserver === "undefined") return;
  function mark() {
    const above = parts.filter(part => part.getBoundingClientRect().top < innerHeight / 3);
    for (const link of links.values()) link.removeAttribute("aria-current");
    if (above.length) links.get(above[above.length - 1].id).setAttribute("aria-current", "location");
  }
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
}

/** Write the code of each example, and what changed in meaning beside each difference, which stands on the page once. */
function completeTexts() {
  for (const details of document.querySelectorAll("details.python")) {
    const block = details.querySelector("pre");
    const shown = [...details.parentElement.querySelectorAll("dt.in + dd")].map(each => each.textContent);
    block.textContent = pythonCode(JSON.parse(block.textContent), shown);
    details.hidden = false;
  }
  for (const said of document.querySelectorAll(".difference p")) {
    said.replaceWith(...[...said.querySelectorAll("a")].map(link => {
      const told = make("p", "", "");
      const texts = document.querySelectorAll(`${link.hash} .meaning`);
      told.append(link, ": ", ...[...texts].flatMap(text => [...text.cloneNode(true).childNodes, " "]));
      return told;
    }));
  }
}

/** Let the keyboard reach what is wider or higher than its place. */
function addTabStops() {
  for (const place of document.querySelectorAll("main pre, .example dd, .scroll, .prose .table, .formula, .picture")) place.tabIndex = 0;
}

function addPermalinks() {
  for (const place of document.querySelectorAll("main section[id], main .prose [id], main .parameters > div[id], main .example[id]")) {
    const holder = place.matches("h2, h3, h4") ? place : place.querySelector("h2, dt, h3, h4");
    if (!holder || holder.querySelector("a.anchor, a.permalink")) continue;
    const link = make("a", "permalink", "#");
    link.href = `#${place.id}`;
    link.setAttribute("aria-label", `Link to ${holder.textContent.trim().slice(0, 80)}`);
    holder.append(link);
  }
}

function addCopyButtons() {
  for (const block of document.querySelectorAll("main .prose pre, main pre.code, main .code pre, main .python pre")) {
    const button = make("button", "copy", "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(copied(block.textContent));
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    const around = make("div", "copyable", "");
    block.before(around);
    around.append(block, button);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  addThemeSwitch(document.querySelector("header.top"));
  completeTexts();
  addTabStops();
  addCopyButtons();
  addPermalinks();
  addVersionMenu(document.querySelector("nav.timeline"));
  followContents(document.querySelector("nav.side"));
});
})();
