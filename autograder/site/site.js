"use strict";
// The search over all lessons. SECTIONS comes from sections.js: pages on disk may load no other data.
const MOST = 30, AROUND = 70;
const root = document.body.dataset.root;
const words = document.getElementById("words");
const count = document.getElementById("count");
const found = document.getElementById("found");
const escaped = word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Sections that hold every word; those with the words in their title come first.
function matches(wanted) {
  const score = section => {
    const title = section.title.toLowerCase(), text = `${title} ${section.text.toLowerCase()}`;
    if (!wanted.every(word => text.includes(word))) return 0;
    return 1 + wanted.filter(word => title.includes(word)).length;
  };
  return SECTIONS.map(section => [score(section), section])
    .filter(([score]) => score).sort(([one], [other]) => other - one).map(([, section]) => section);
}

// The text around the first word, with every word marked. Text only: nothing in it becomes markup.
function excerpt(text, wanted) {
  const pattern = new RegExp(`(${wanted.map(escaped).join("|")})`, "gi");
  const from = text.search(pattern) - AROUND;
  const start = from > 0 ? text.lastIndexOf(" ", from) + 1 : 0;  // no word is cut
  const space = text.indexOf(" ", start + 3 * AROUND), end = space < 0 ? text.length : space;
  const piece = text.slice(start, end);
  const line = document.createElement("p");
  line.append(start ? "… " : "");
  piece.split(pattern).forEach((part, place) => {
    if (place % 2) line.append(Object.assign(document.createElement("mark"), {textContent: part}));
    else line.append(part);
  });
  line.append(end < text.length ? " …" : "");
  return line;
}

function show() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = wanted.length ? matches(wanted) : [];
  const many = `${sections.length} ${sections.length === 1 ? "section" : "sections"}`;
  count.textContent = !wanted.length ? "" : sections.length > MOST ? `${many}, the first ${MOST} of them below` : many;
  found.replaceChildren(...sections.slice(0, MOST).map(section => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = root + section.page;
    link.textContent = section.title === section.lesson ? section.lesson : `${section.lesson} · ${section.title}`;
    item.append(link, excerpt(section.text, wanted));
    return item;
  }));
}

document.querySelector("search").hidden = false;
words.addEventListener("input", show);
words.addEventListener("keydown", event => {
  if (event.key === "Escape") { words.value = ""; show(); }
});
// A found section is on this page, too: the list has done its work once one was chosen.
found.addEventListener("click", () => { words.value = ""; setTimeout(show); });
if (matchMedia("(max-width: 63.99rem)").matches)
  document.querySelectorAll(".side details").forEach(each => { each.open = false; });
