// Slides that fit: what is a little too high for a slide shrinks; what is much too high scrolls.
(() => {
  const LEAST = 0.72;

  for (const section of document.querySelectorAll(".slides section")) {
    if (section.querySelector("section")) continue;
    const page = document.createElement("div");
    page.className = "page";
    page.append(...section.childNodes);
    section.append(page);
  }

  function fit(section) {
    const page = section && section.querySelector(":scope > .page");
    if (!page) return;
    let zoom = 1;
    page.style.zoom = zoom;
    while (section.scrollHeight > section.clientHeight + 1 && zoom > LEAST) {
      zoom = Math.round((zoom - 0.04) * 100) / 100;
      page.style.zoom = zoom;
    }
  }

  Reveal.initialize({
    width: 1280, height: 720, margin: 0, minScale: 0.2, maxScale: 3, center: false,
    hash: true, slideNumber: "c/t", navigationMode: "linear", transition: "none",
    keyboardCondition: () => document.activeElement.tagName !== "SUMMARY",
  }).then(() => fit(Reveal.getCurrentSlide()));
  Reveal.on("slidechanged", (event) => fit(event.currentSlide));
  window.addEventListener("load", () => fit(Reveal.getCurrentSlide()));
  // "toggle" does not bubble: catch it on its way down
  document.addEventListener("toggle", () => fit(Reveal.getCurrentSlide()), true);
})();
