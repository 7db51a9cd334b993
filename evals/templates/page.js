"use strict";
const packed = JSON.parse(document.getElementById("transcripts")?.textContent || "{}");

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Everything of a transcript is set as text: it comes from papers and models.
async function show(details) {
  const place = details.querySelector(".transcript");
  if (!place || place.dataset.shown) return;
  place.dataset.shown = "1";
  const name = details.dataset.case;
  if (!(name in packed)) return;
  const steps = await unpack(packed[name]);
  place.textContent = "";
  for (const step of steps) {
    const box = element("div", "", `said ${step.kind}`);
    const head = step.turn ? `turn ${step.turn}, ` : "";
    box.append(element("h4", `${head}${step.at_s.toFixed(2)} s: ${step.kind}${step.tool ? " " + step.tool : ""}`));
    const text = element("pre", step.text);
    text.tabIndex = 0;
    box.append(text);
    place.append(box);
  }
}

const cases = [...document.querySelectorAll("details.case")];
for (const details of cases) details.addEventListener("toggle", () => details.open && show(details));

function go(name) {
  const details = cases.find((one) => one.dataset.case === name);
  if (!details) return;
  details.hidden = false;
  details.open = true;
  details.scrollIntoView({ block: "start" });
  details.querySelector("summary").focus();
}
for (const dot of document.querySelectorAll("[data-go]")) {
  dot.addEventListener("click", () => go(dot.dataset.go));
  dot.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(dot.dataset.go); }
  });
}

const words = document.getElementById("words");
const which = document.getElementById("which");
function filter() {
  const wanted = (words?.value || "").toLowerCase();
  let shown = 0;
  for (const details of cases) {
    const fits = !wanted || details.textContent.toLowerCase().includes(wanted);
    const kind = which?.value || "all";
    const kept = fits && (kind === "all" || details.dataset[kind] === "1");
    details.hidden = !kept;
    shown += kept ? 1 : 0;
  }
  const count = document.getElementById("count");
  if (count) count.textContent = `${shown} of ${cases.length} shown`;
}
words?.addEventListener("input", filter);
which?.addEventListener("change", filter);
filter();
