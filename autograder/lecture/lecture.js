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
    const style = getComputedStyle(section);
    const room = section.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    let scale = 1;
    const tooHigh = () => {
      page.style.width = `${100 / scale}%`;
      return page.offsetHeight * scale > room;
    };
    while (tooHigh() && scale > LEAST) scale = Math.max(LEAST, Math.round(100 * scale - 4) / 100);
    // not `zoom`: the frames of the views would shrink, and what is in them would not
    page.style.transform = scale < 1 ? `scale(${scale})` : "";
    page.style.marginBottom = `${(scale - 1) * page.offsetHeight}px`;
    page.dataset.scale = scale;
  }

  Reveal.initialize({
    width: 1280, height: 720, margin: 0, minScale: 0.2, maxScale: 3, center: false,
    hash: true, slideNumber: "c/t", navigationMode: "linear", transition: "none",
    keyboardCondition: () => document.activeElement.tagName !== "SUMMARY",
  }).then(() => fit(Reveal.getCurrentSlide()));
  Reveal.on("slidechanged", (event) => fit(event.currentSlide));
  window.addEventListener("load", () => fit(Reveal.getCurrentSlide()));
  // neither bubbles: catch them on their way down; a picture has no height before it is loaded
  for (const event of ["toggle", "load"]) {
    document.addEventListener(event, () => fit(Reveal.getCurrentSlide()), true);
  }
})();
