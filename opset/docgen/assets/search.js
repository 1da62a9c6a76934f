/* Search of the site: facets are an exact scan of the index, free text is MiniSearch's. `opsetSearch` needs no page. */
(function () {
"use strict";

// ---- The index -----------------------------------------------------------------------------------------------------

const DEPRECATED = 1, FUNCTION = 2;
const KINDS = ["operator", "error", "opset", "release", "type", "family", "runtime", "domain", "guide", "verb", "api", "index"];
// Other common names of element types, exactly the same type each.
const SAME_TYPE = {
  bf16: "bfloat16", fp16: "float16", half: "float16", fp32: "float", float32: "float", fp64: "double",
  float64: "double", boolean: "bool", str: "string", sequence: "seq", sparse_tensor: "sparse",
};
const STOP = new Set(("a an and are as at be by can do does for from how i in into is it its me of on onto op " +
  "operator operators ops or over that the their this to use using what which with").split(" "));

const TERMS = new Map();

/** Return what is indexed of a text, and searched: its words, and the parts of those that are written together. */
function terms(text) {
  const found = [];
  for (const word of text.match(/[\p{L}\p{N}]+/gu) || []) {
    if (!TERMS.has(word)) {
      const parts = word.match(/\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?\p{Ll}+|\p{N}+|\p{L}+/gu) || [];
      const longer = parts.filter(part => part.length > 1 && part !== word);
      TERMS.set(word, [word, ...longer].map(term).filter(Boolean));
    }
    found.push(...TERMS.get(word));
  }
  return found;
}

/** Return the form of a word that is indexed and searched: lower case, one spelling, no plural; "" for a stop word. */
function term(word) {
  const text = word.toLowerCase();
  if (STOP.has(text)) return "";
  const spelled = text.replace(/is(e[ds]?|ing|ation)$/, "iz$1");
  return spelled.length > 4 && /[^s]s$/.test(spelled) ? spelled.slice(0, -1) : spelled;
}

const compact = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
const phrase = text => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ")} `;
const fold = text => text.toLowerCase();
const LONG = { "numpy.": "np.", "tensorflow.": "tf.", "jax.numpy.": "jnp." };
const shortCall = text => fold(text).replace(/^(numpy|tensorflow|jax\.numpy)\./, found => LONG[found]);
const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Return what is found by: entries with their names in every form, facets' values, and the text index. */
function prepare(index, MiniSearch) {
  const lists = index.lists, folded = lists.map(list => new Set(list.map(fold)));
  const entries = index.operators.map(([name, domain, family, href, summary, synonyms, calls, text, rows]) => {
    const [domainName, newest] = index.domains[domain];
    const versions = rows.map(([since, flags, types, attributes, inputs, outputs], position) => ({
      since, until: position + 1 < rows.length ? rows[position + 1][0] - 1 : newest, flags,
      types: folded[types], attributes: folded[attributes], inputs: folded[inputs], outputs: folded[outputs],
    }));
    return {
      kind: "operator", name, domain: domainName, family: index.families[family], href, summary, text, versions,
      synonyms: `${synonyms} ${calls}`, calls: calls.split(" ").filter(Boolean).map(shortCall),
      phrases: [[120, phrase(synonyms)], [40, phrase(summary)], [20, phrase(text)]],
      deprecated: deprecatedSince(versions),
      aliases: [compact(name)], parts: terms(name), initials: fold((name.match(/\p{Lu}/gu) || []).join("")),
    };
  });
  for (const [title, href, kind, text] of index.pages) {
    entries.push({ kind, name: title, domain: "", href, summary: "", synonyms: "", text, versions: [], deprecated: 0,
      calls: [], phrases: [[60, phrase(title)], [20, phrase(text)]], aliases: pageAliases(title, kind),
      parts: terms(title), initials: "" });
  }
  const text = new MiniSearch({
    fields: ["name", "synonyms", "summary", "text"], storeFields: [], tokenize: terms, processTerm: each => each,
    searchOptions: {
      boost: { name: 6, synonyms: 5, summary: 1.5, text: 1 },
      prefix: each => each.length > 1,
      fuzzy: each => (each.length > 3 && !/\p{N}/u.test(each) && !vocabulary.has(each) ? 0.25 : false),
      weights: { fuzzy: 0.3, prefix: 0.4 },
      bm25: { k: 1.2, b: 0.4, d: 0.5 },
      boostDocument: id => weight(entries[id]),
    },
  });
  text.addAll(entries.map((entry, id) => ({
    id, name: entry.name, synonyms: `${entry.synonyms} ${entry.aliases.slice(1).join(" ")}`, summary: entry.summary,
    text: entry.text,
  })));
  const vocabulary = new Set([...TERMS.values()].flat());
  return { index, entries, text, vocabulary, facets: facets(index) };
}

/** Return how much the words of an entry count: most what most models use. */
function weight({ kind, domain, deprecated }) {
  return deprecated || kind === "api" ? 0.5 : kind !== "operator" ? 0.6 : domain === "ai.onnx" ? 1 : 0.8;
}

/** Return the version from which on an operator is deprecated; 0 where the newest one is not. */
function deprecatedSince(versions) {
  const last = versions.findLastIndex(version => !(version.flags & DEPRECATED));
  return last + 1 < versions.length ? versions[last + 1].since : 0;
}

/** Return the names that a page is known by: "C204: no adapter" is C204, "ai.onnx 17" is opset 17. */
function pageAliases(title, kind) {
  const last = title.split(" ").pop();
  const aliases = [compact(title)];
  if (kind === "error") aliases.unshift(compact(title.split(":")[0]));
  if (["opset", "release", "type", "family"].includes(kind)) aliases.push(compact(kind + last));
  if (kind === "release") aliases.push(compact(last));
  if (kind === "api" && title.split(".").length === 2) aliases.push(compact(title.split(".").pop()));
  return aliases;
}

// ---- Facets --------------------------------------------------------------------------------------------------------

/** Return every facet: what it means, the values that there are, and whether a version of an operator has a value. */
function facets(index) {
  const rows = index.operators.flatMap(operator => operator[8]);
  const listed = column => [...new Set(rows.map(row => row[column]))].flatMap(position => index.lists[position]);
  const having = column => (entry, version, value) => version[column].has(value);
  const newest = Math.max(0, ...index.domains.map(each => each[1]));
  const domains = index.domains.map(([name]) => name);
  const all = {
    type: { means: "an element type of an input or output", values: listed(2), has: having("types") },
    attr: { means: "an attribute", values: listed(3), has: having("attributes") },
    in: { means: "an opset: versions in force there are found", values: Array.from({ length: newest }, (_, n) => n + 1),
      has: (entry, version, value) => version.since <= Number(value) && Number(value) <= version.until },
    since: { means: "the opset that introduced a version", values: rows.map(row => row[0]),
      has: (entry, version, value) => version.since === Number(value) },
    family: { means: "a family of operators", values: index.families,
      has: (entry, version, value) => fold(entry.family) === value },
    domain: { means: "a domain", values: domains.flatMap(name => [name, ...shortNames(name)]),
      has: (entry, version, value) => hasName(entry.domain, value) },
    input: { means: "an input", values: listed(4), has: having("inputs") },
    output: { means: "an output", values: listed(5), has: having("outputs") },
    is: { means: "deprecated, or a function of other operators", values: ["deprecated", "function"],
      has: (entry, version, value) => (version.flags & (value === "function" ? FUNCTION : DEPRECATED)) > 0 },
  };
  return new Map(Object.entries(all).map(([name, facet]) => {
    const values = [...new Set(facet.values)].sort(byName).map(String);
    return [name, { ...facet, values, known: new Set(values.map(fold)) }];
  }));
}

/** Return what a domain is called for short: its last part. `ai.onnx` has no short name, since others begin with it. */
function shortNames(domain) {
  return domain === "ai.onnx" || !domain.includes(".") ? [] : [domain.slice(domain.lastIndexOf(".") + 1)];
}

const hasName = (domain, value) => [domain, ...shortNames(domain)].some(each => fold(each) === value);

/** Return a query's facets and its free words. A facet is `name:value`, and `-name:value` is what must not be. */
function parse(query, known) {
  const wanted = [], free = [], messages = [];
  for (const part of query.split(/\s+/u).filter(Boolean)) {
    const match = /^(-?)(\p{L}+):(?!:|\/\/)(.*)$/u.exec(part);
    if (!match) { free.push(part); continue; }
    const [, not, name, value] = match, facet = known.get(fold(name));
    if (!facet) {
      messages.push(`There is no facet ${cut(name)}:${near(name, [...known.keys()])}`);
    } else if (!value) {
      messages.push(`${fold(name)}: needs a value, ${facet.means}.`);
    } else {
      const plain = plainValue(fold(name), fold(value));
      if (facet.known.has(plain)) wanted.push({ name: fold(name), facet, not: not === "-", value: plain });
      else messages.push(`There is no ${fold(name)}:${cut(value)}${near(value, facet.values)}`);
    }
  }
  return { wanted, free: free.join(" "), messages };
}

function plainValue(name, value) {
  if (name === "in" || name === "since") return value.replace(/^0+(?=\d)/, "");
  if (name !== "type") return value;
  const inner = /^tensor\((\w+)\)$/.exec(value);
  const type = inner ? inner[1] : value;
  return Object.hasOwn(SAME_TYPE, type) ? SAME_TYPE[type] : type;
}

const cut = text => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** Return the end of a message: the names nearest to a wrong one, or the first of all names. */
function near(name, names) {
  if (/^\d+$/.test(names[0])) return `; there are ${names[0]} to ${names[names.length - 1]}.`;
  const wrong = fold(name).slice(0, 60);
  const found = names
    .map(each => [fold(each).startsWith(wrong) ? 0 : distance(wrong, fold(each).slice(0, 60)), each])
    .filter(([away]) => away <= Math.max(1, wrong.length / 3))
    .sort((a, b) => a[0] - b[0] || byName(a[1], b[1]))
    .slice(0, 4).map(pair => pair[1]);
  if (found.length) return `; did you mean ${found.join(", ")}?`;
  return names.length <= 12 ? `; there are ${names.join(", ")}.` : ".";
}

/** Return how many characters are added, dropped, replaced or exchanged with the next between two words. */
function distance(a, b) {
  let before = [], last = Array.from({ length: b.length + 1 }, (_, position) => position);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (exchanged) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}

/** Return those of an entry's versions for which all facets hold, newest first. */
function matching(entry, wanted) {
  return entry.versions
    .filter(version => wanted.every(({ facet, value, not }) => facet.has(entry, version, value) !== not))
    .map(version => version.since).reverse();
}

// ---- Ranking -------------------------------------------------------------------------------------------------------

/** Return how well a name fits what was typed: 0 not at all; the whole name, its initials, its beginning, a slip. */
function nameScore(entry, typed) {
  let best = entry.initials.length > 1 && entry.initials === typed ? 800 : 0;
  for (const alias of entry.aliases) {
    const longer = Math.min(90, alias.length - typed.length);
    if (alias === typed) return entry.kind === "operator" ? 1000 : 900;
    if (typed.length > 2 && alias.startsWith(typed)) {
      best = Math.max(best, 600 - longer);
    } else if (typed.length > 3 && !engine.vocabulary.has(typed)) {
      const slips = slip(typed, alias);
      if (slips <= (typed.length > 7 ? 2 : 1)) best = Math.max(best, 400 - 100 * slips - longer);
    }
  }
  return best;
}

/** Return how well a call of a framework fits: the whole of it, its last part, or that as the operator's name. */
function callScore(entry, call) {
  const last = call.slice(call.lastIndexOf(".") + 1), name = entry.aliases[0];
  const found = entry.calls.includes(call) ? 700 : entry.calls.some(each => each.endsWith(`.${last}`)) ? 500 : 0;
  if (!found) return 0.5 * nameScore(entry, compact(last));
  // Of several operators with this call, that of a like name first, and then the simplest, which has the shortest name.
  const like = name === compact(last) ? 200 : name.includes(compact(last)) ? 100 : 0;
  return found + like - Math.min(90, name.length) - (entry.deprecated ? 100 : 0);
}

/** Return the distance of a word to another one, or to the beginning of it that is as long. */
function slip(typed, alias) {
  if (alias.length < typed.length - 2 || typed.length > 40 || /\p{N}/u.test(typed)) return 9;
  const beginnings = [-1, 0, 1].map(more => alias.slice(0, typed.length + more));
  return Math.min(...[...beginnings, alias.slice(0, 60)].map(each => distance(typed, each)));
}

/** Return how entries rank by names and phrases: what was typed as one name or call, its words, and all as a phrase. */
function nameRank(free) {
  const several = phrase(free), all = several.trim().split(" "), telling = all.filter(word => !STOP.has(word));
  const singles = telling.length ? telling : all;
  const names = [...new Set([compact(free), singles.join("")])].filter(Boolean);
  const isCall = /^[\w.]*\w\.\w+$/.test(free);
  const call = isCall ? shortCall(free) : "";
  return entry => {
    if (!names.length) return 0;
    let score = Math.max(...names.map(name => nameScore(entry, name)), call ? callScore(entry, call) : 0);
    if (singles.every(word => entry.parts.some(part => part.startsWith(word)))) {
      score += entry.kind === "operator" ? 200 : 30;
    } else if (singles.includes(entry.aliases[0])) {
      score += 60;
    }
    const said = entry.phrases.find(each => each[1].includes(several));
    return score + (said ? said[0] + (said[1].startsWith(several) ? 20 : 0) : 0);
  };
}

/** Return entries' scores, and the indexed words that were found, by position: more for those with all words. */
function textScores(query) {
  const sought = new Set(terms(query)).size;
  const found = engine.text.search(query).map(each => ({ ...each, share: new Set(each.queryTerms).size / sought }));
  const most = Math.max(...found.map(each => each.score)), fullest = Math.max(...found.map(each => each.share));
  return new Map(found
    .filter(({ share }) => share >= fullest / 2)
    .map(({ id, score, share, terms: hits }) => [id, { score: 100 * share * share * score / most, hits }]));
}

let engine = null;

/**
 * Return what a query finds: `{items, total, messages, completions}`, the best first and at most `most`.
 *
 * An item is {kind, name, domain, href, versions, deprecated, pieces}: versions for which the facets hold, newest
 * first, the version from which on it is deprecated or 0, and a line of text in pieces, [text, whether it is marked].
 */
function opsetSearch(query, most = 50) {
  engine = engine || prepare(globalThis.OPSET_INDEX, globalThis.MiniSearch);
  const { wanted, free, messages } = parse(query.slice(0, 300), engine.facets);
  const completions = complete(query.slice(0, 300), free);
  if (messages.length || !(wanted.length || free)) return { items: [], total: 0, messages, completions };
  const name = nameRank(free.replace(/\(.*/su, ""));
  const scores = free ? textScores(free) : new Map();
  const found = [];
  engine.entries.forEach((entry, id) => {
    const versions = matching(entry, wanted);
    if (wanted.length && !versions.length) return;
    const text = scores.get(id);
    const score = name(entry) + (text ? text.score : 0);
    if (!free || score) found.push({ entry, versions, score, hits: text ? text.hits : [] });
  });
  found.sort((a, b) => b.score - a.score || Math.sign(a.entry.deprecated) - Math.sign(b.entry.deprecated) ||
    KINDS.indexOf(a.entry.kind) - KINDS.indexOf(b.entry.kind) || byName(a.entry.name, b.entry.name) ||
    byName(a.entry.domain, b.entry.domain));
  if (!found.length) messages.push(...whyNothing(wanted, free));
  const items = found.slice(0, most).map(each => item(each, wanted.length > 0));
  return { items, total: found.length, messages, completions };
}

/** Return what to say where nothing was found: an opset that no chosen domain has is the reason most often. */
function whyNothing(wanted, free) {
  const opsets = wanted.filter(each => each.name === "in" && !each.not).map(each => Number(each.value));
  const domains = wanted.filter(each => each.name === "domain");
  const isChosen = ([name]) => domains.every(({ value, not }) => hasName(name, value) !== not);
  const chosen = engine.index.domains.filter(isChosen);
  const ends = chosen.filter(([, newest]) => newest < Math.max(0, ...opsets));
  if (ends.length && ends.length === chosen.length) {
    return [`Nothing matches: ${ends.map(([name, newest]) => `${name} ends at opset ${newest}`).join(", ")}.`];
  }
  return [free && wanted.length ? "Nothing matches both the facets and the words." : "Nothing matches."];
}

function item({ entry, versions, hits }, chosen) {
  const { kind, name, domain, deprecated, href } = entry;
  const pieces = marked(excerpt(entry, hits), hits);
  return { kind, name, domain, deprecated, versions, href: chosen ? `${href}#v${versions[0]}` : href, pieces };
}

/** Return the line to show: the summary where it has a word that was found, else the sentence with most of them. */
function excerpt(entry, hits) {
  const sought = new Set(hits);
  const count = text => new Set(terms(text).filter(each => sought.has(each))).size;
  if (entry.kind === "operator" && (!hits.length || count(`${entry.name} ${entry.summary}`))) return entry.summary;
  let best = entry.summary, most = 0;
  for (const sentence of entry.text.split(/\n|(?<=[.!?]) /)) {
    const hits = count(sentence);
    if (hits > most) [best, most] = [sentence, hits];
  }
  best = best || entry.text.split("\n")[0];
  return best.length > 240 ? `${best.slice(0, 239)}…` : best;
}

function marked(text, hits) {
  if (!hits.length) return [[text, false]];
  const sought = new Set(hits), pieces = [];
  for (const part of text.split(/([\p{L}\p{N}]+)/u)) {
    const hit = /^[\p{L}\p{N}]/u.test(part) && terms(part).some(each => sought.has(each));
    const last = pieces[pieces.length - 1];
    if (last && last[1] === hit) last[0] += part;
    else if (part) pieces.push([part, hit]);
  }
  return pieces;
}

/**
 * Return whole queries in which the word at the end is completed: a value of a facet, or a facet's name where it is the
 * only word, since it may be any.
 */
function complete(query, free) {
  const [, start, last] = /^(.*?)(\S*)$/su.exec(query);
  const match = /^(-?)(\p{L}*)(:?)(.*)$/u.exec(last);
  if (!last || !match) return [];
  const [, not, name, colon, value] = match, begins = text => each => fold(each).startsWith(fold(text));
  if (!colon) {
    const names = value || free !== last ? [] : [...engine.facets.keys()];
    return names.filter(begins(name)).map(each => `${start}${not}${each}:`);
  }
  const facet = engine.facets.get(fold(name));
  if (!facet || facet.known.has(plainValue(fold(name), fold(value)))) return [];
  return facet.values.filter(begins(value)).slice(0, 12).map(each => `${start}${not}${fold(name)}:${each} `);
}

globalThis.opsetSearch = opsetSearch;
if (typeof document !== "undefined") attach(document.querySelector("header.top"));

// ---- The page ------------------------------------------------------------------------------------------------------

function attach(header) {
  if (!header) return;
  const root = document.documentElement.dataset.root || "./";  // "./", so that no link begins with a scheme
  const form = element("form", "search", "", { role: "search", action: `${root}index.html` });
  const box = element("input", "", "", {
    id: "Search", name: "q", type: "text", enterkeyhint: "search", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false", placeholder: "Search  ( / )",
  });
  form.append(element("label", "unseen", "Search", { for: "Search" }), box);
  header.append(form);
  const status = element("p", "search-status unseen", "", { role: "status" });
  const message = element("p", "search-message");
  const labels = { role: "listbox", id: "Search-list", "aria-label": "Search results" };
  const list = element("div", "search-list", "", labels);
  const hint = element("p", "search-hint", "Words, and facets that all have to hold: type:bfloat16 attr:axis in:17 " +
    "since:13 family:pool domain:ml input:X output:Y is:deprecated. A minus before a facet excludes: -type:double.");
  const panel = element("div", "search-panel");
  panel.append(message, list, hint);
  panel.hidden = list.hidden = true;
  form.append(status, panel);
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "Search-list",
  })) box.setAttribute(name, value);

  let options = [], active = -1, first = -1, loading = null;

  /** Load the index when it is first needed: pages without a search need none. */
  function load() {
    loading = loading || Promise.all(["minisearch.js", "index.js"].map(name => new Promise((resolve, reject) => {
      const script = element("script");
      script.onload = resolve;
      script.onerror = reject;
      script.src = `${root}assets/${name}`;
      document.head.append(script);
    })));
    return loading;
  }

  function update() {
    const query = box.value, missing = ["The search index cannot be loaded: assets/index.js."];
    load().then(
      () => { if (query === box.value) show(opsetSearch(query), query); },
      () => show({ items: [], total: 0, messages: missing, completions: [] }, query),
    );
  }

  function show({ items, total, messages, completions }, query) {
    options = [...completions.map(completion), ...items.map(result)];
    options.forEach((option, position) => { option.id = `Search-${position}`; });
    first = items.length ? completions.length : Math.min(0, completions.length - 1);
    list.replaceChildren(...options);
    list.hidden = !options.length;
    const more = total > items.length ? `The first ${items.length} of ${total}.` : "";
    message.textContent = completions.length && !items.length ? "" : [...messages, more].join(" ");
    status.textContent = query.trim() ? messages.join(" ") || `${total} found` : "";
    select(-1);
    hint.hidden = query.trim() !== "";
    open(document.activeElement === box);
  }

  function result({ name, domain, kind, href, versions, deprecated, pieces }) {
    const option = element("a", "search-option", "", { role: "option", tabindex: "-1", href: root + href });
    const line = element("span", "search-line");
    const which = versions.length ? ` · version${versions.length > 1 ? "s" : ""} ${versions.join(", ")}` : "";
    line.append(element("b", "search-name", name), " ", element("span", "search-meta", (domain || kind) + which));
    if (deprecated) line.append(" ", element("span", "search-badge", `deprecated since ${deprecated}`));
    const summary = element("span", "search-summary");
    summary.append(...pieces.map(([text, hit]) => (hit ? element("mark", "", text) : text)));
    option.append(line, " ", summary);
    option.addEventListener("click", remember);
    return option;
  }

  function completion(text) {
    const option = element("div", "search-option", "", { role: "option" });
    option.append(element("b", "search-name", text.trim().split(/\s/).pop()));
    option.addEventListener("click", () => {
      box.value = text;
      box.focus();
      update();
    });
    return option;
  }

  function open(wanted) {
    panel.hidden = !wanted;
    box.setAttribute("aria-expanded", String(wanted && options.length > 0));
    if (!wanted) select(-1);
  }

  function select(position) {
    options.forEach((option, each) => option.setAttribute("aria-selected", String(each === position)));
    active = position;
    if (position < 0) {
      box.removeAttribute("aria-activedescendant");
    } else {
      box.setAttribute("aria-activedescendant", options[position].id);
      options[position].scrollIntoView({ block: "nearest" });
    }
  }

  /** Keep the query in the address of this page, so that going back shows the results again. */
  function remember() {
    try {
      history.replaceState(null, "", `?q=${encodeURIComponent(box.value)}${location.hash}`);
    } catch { /* an address that may not change */ }
  }

  function key(event) {
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    const count = options.length, moves = {
      ArrowDown: () => (active + 1) % count,
      ArrowUp: () => (active <= 0 ? count : active) - 1,
      Home: () => 0,
      End: () => count - 1,
    };
    if (event.key === "Escape") {
      if (panel.hidden) box.value = "";
      open(false);
    } else if (panel.hidden && event.key.startsWith("Arrow")) {
      if (!/^Arrow(Up|Down)$/.test(event.key)) return;
      update();
    } else if (Object.hasOwn(moves, event.key) && count && !event.shiftKey) {
      if (active < 0 && !event.key.startsWith("Arrow")) return;  // they move in the text
      select(moves[event.key]());
    } else {
      return;
    }
    event.preventDefault();
  }

  box.addEventListener("input", update);
  box.addEventListener("focus", update);
  box.addEventListener("keydown", key);
  form.addEventListener("submit", event => {
    event.preventDefault();
    const chosen = options[active < 0 ? first : active];
    if (chosen && !panel.hidden) chosen.click();
    else update();
  });
  panel.addEventListener("mousedown", event => event.preventDefault());  // the box keeps the focus
  form.addEventListener("focusout", event => { if (!form.contains(event.relatedTarget)) open(false); });
  document.addEventListener("keydown", event => {
    const at = event.target;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    box.value = asked;
    box.focus();
  }
}

function element(tag, classes = "", text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
})();
