"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const cards = data.cards.map((facts) => ({ ...facts, element: $("a" + facts.n) }));
  for (const card of cards) {
    const texts = all("blockquote, .abstract p, .notice", card.element).map((element) => element.textContent);
    card.words = [card.title, card.authors, card.place, card.why, ...card.badges, ...texts].join(" ").toLowerCase();
  }
  for (const element of all("[data-script]")) element.hidden = false;
  $("unscripted").hidden = true;

  const say = (sentence) => { $("said").textContent = sentence; };

  // Light and dark
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const nameTheme = () => { $("theme").textContent = isDark() ? "Light colours" : "Dark colours"; };
  $("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  prefersDark.addEventListener("change", nameTheme);
  nameTheme();

  // Filter and order
  let shown = cards;
  const orders = {
    number: (a, b) => a.n - b.n,
    score: (a, b) => (b.score ?? -1) - (a.score ?? -1),
    newest: (a, b) => (b.year ?? -1) - (a.year ?? -1),
    oldest: (a, b) => (a.year ?? 9999) - (b.year ?? 9999),
    title: (a, b) => a.title.localeCompare(b.title, "en"),
    author: (a, b) => a.authors.localeCompare(b.authors, "en"),
  };
  const form = $("filter");
  const matches = (card, wanted) =>
    wanted.words.every((word) => card.words.includes(word)) &&
    (!wanted.type || card.type === wanted.type) &&
    (!wanted.source || card.sources.includes(wanted.source)) &&
    (!wanted.theme || card.themes.includes(Number(wanted.theme))) &&
    (!wanted.from || (card.year !== null && card.year >= Number(wanted.from))) &&
    (!wanted.to || (card.year !== null && card.year <= Number(wanted.to))) &&
    (!wanted.reviewed || !card.preprint) &&
    (!wanted.sound || !card.retracted);
  const filter = () => {
    const values = Object.fromEntries(new FormData(form));
    const wanted = { ...values, words: values.words.toLowerCase().split(/\s+/).filter(Boolean) };
    const before = orders[wanted.order];
    const sorted = [...cards].sort((a, b) => before(a, b) || a.n - b.n);
    shown = sorted.filter((card) => matches(card, wanted));
    const kept = new Set(shown);
    for (const card of sorted) {
      card.element.hidden = !kept.has(card);
      $("cards").append(card.element);
    }
    $("none").hidden = shown.length > 0;
    $("shown").textContent = `${shown.length} of ${cards.length} shown`;
  };
  if (form) {
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    const unfold = $("unfold");
    unfold.addEventListener("click", () => {
      const open = unfold.getAttribute("aria-pressed") === "false";
      for (const details of all("details.abstract")) details.open = open;
      unfold.setAttribute("aria-pressed", String(open));
      unfold.textContent = open ? "Close all abstracts" : "Open all abstracts";
    });
  }

  // A reference leads to its card, also to one that the filter hides; it opens a hover card meanwhile.
  const hover = $("hover");
  let anchor = null;
  let waiting = 0;
  const line = (text, kind) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    if (kind) paragraph.className = kind;
    return paragraph;
  };
  const hide = () => {
    clearTimeout(waiting);
    hover.hidden = true;
    anchor?.removeAttribute("aria-describedby");
    anchor = null;
  };
  const hideSoon = () => { clearTimeout(waiting); waiting = setTimeout(hide, 200); };
  const show = (reference) => {
    const card = cards[Number(reference.dataset.ref) - 1];
    if (!card) return;
    hide();
    anchor = reference;
    const facts = [card.authors, card.place, card.badges.join(" · ")].filter(Boolean);
    hover.replaceChildren(line(card.title, "title"), ...facts.map((fact) => line(fact, "faint")));
    if (card.why) hover.append(line(card.why));
    hover.hidden = false;
    const at = reference.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - hover.offsetWidth - 16));
    const below = at.bottom + 8 + hover.offsetHeight < innerHeight || at.top < hover.offsetHeight + 8;
    hover.style.left = `${left + scrollX}px`;
    hover.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - hover.offsetHeight - 6)}px`;
    reference.setAttribute("aria-describedby", "hover");
  };
  const referenceOf = (event) => event.target.closest?.("a.ref");
  document.addEventListener("mouseover", (event) => {
    const reference = referenceOf(event);
    if (reference && reference !== anchor) show(reference);
    else if (reference || hover.contains(event.target)) clearTimeout(waiting);
  });
  document.addEventListener("mouseout", (event) => {
    if (referenceOf(event) || hover.contains(event.target)) hideSoon();
  });
  document.addEventListener("focusin", (event) => {
    const reference = referenceOf(event);
    if (reference?.matches(":focus-visible")) show(reference);
    else if (anchor) hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("click", (event) => {
    const reference = referenceOf(event);
    if (!reference) return;
    hide();
    const card = cards[Number(reference.dataset.ref) - 1];
    if (card?.element.hidden) form.reset();
  });

  // Copy and download
  const types = {
    bibtex: ["bib", "application/x-bibtex"],
    ris: ["ris", "application/x-research-info-systems"],
    csl: ["csl.json", "application/vnd.citationstyles.csl+json"],
    citation: ["txt", "text/plain"],
    csv: ["csv", "text/csv"],
    json: ["json", "application/json"],
    md: ["md", "text/markdown"],
    svg: ["svg", "image/svg+xml"],
  };
  const written = (kind, some) => {
    if (kind === "csl") return JSON.stringify(some.map((card) => data.csl[card.n - 1]), null, 2) + "\n";
    if (kind === "citation") return some.map((card) => `[${card.n}] ${data.citation[card.n - 1]}\n`).join("");
    if (kind === "bibtex" || kind === "ris") return some.map((card) => data[kind][card.n - 1]).join("\n");
    if (kind === "json") return JSON.stringify(data.log.json, null, 2) + "\n";
    if (kind === "svg") return new XMLSerializer().serializeToString(document.querySelector("#chart-flow svg")) + "\n";
    return data.log[kind];
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  const download = (kind, text) => {
    const [suffix, type] = types[kind];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    link.download = `${kind === "csv" || kind === "json" || kind === "md" ? "search-log" : kind === "svg" ? "flow" : "references"}.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-copy], button[data-download]");
    if (!button) return;
    const kind = button.dataset.copy ?? button.dataset.download;
    const some = button.dataset.number ? [cards[Number(button.dataset.number) - 1]] : shown;
    const text = written(kind, some);
    if (button.dataset.download) {
      download(kind, text);
      say("Downloaded.");
      return;
    }
    const done = await copy(text);
    const name = button.textContent;
    say(done ? "Copied." : "Copying was refused by the browser.");
    button.textContent = done ? "Copied" : "Refused";
    setTimeout(() => { button.textContent = name; }, 1500);
    button.focus();
  });

  // Paper has no summary to click on.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])").filter((details) => !details.closest(".chart"));
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

  // Where the reader is
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) entry.isIntersecting ? seen.add(entry.target.id) : seen.delete(entry.target.id);
    const first = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    // On a phone the list is a bar that scrolls sideways.
    const bar = document.querySelector("nav");
    const current = links.get(first);
    if (current) bar.scrollLeft = current.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
  }, { rootMargin: "-10% 0px -60% 0px" });
  for (const section of all("main > section")) watcher.observe(section);
})();
