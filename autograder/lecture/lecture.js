// Slides that fit: pictures give way first, then the text shrinks a little; the rest scrolls.
(() => {
  const LAST_PICTURE = 170, MOST_PICTURE = 590, TYPE = 20.8, LEAST_TYPE = 20, LONG_OUTPUT = 260, HEADING = 60, LARGER = 1.25, LEAST_SCALE = 0.96;  // no text below 20 pixels
  const PROSE = 26, LEAST_PROSE = 22, LARGE_PROSE = 29, SPARSE = 0.72, SHORT_CODE = 32;

  function codeButton() {
    const button = document.createElement("button");
    button.className = "code";
    button.textContent = "Code";
    button.title = "Show or hide the code (c)";
    button.onclick = () => { toggleCode(); button.blur(); };
    return button;
  }

  for (const section of document.querySelectorAll(".slides section")) {
    if (section.querySelector("section")) continue;
    const page = document.createElement("div");
    page.className = "page";
    page.append(...section.childNodes);
    section.append(page);
    for (const area of page.querySelectorAll(".jp-OutputArea:has(img)")) {
      area.classList.toggle("pictures", area.querySelectorAll(":scope > :has(img)").length > 1);
    }
    if (page.querySelector("details.code")) section.append(codeButton());
    // The lines that stand for exercises go to the foot of the slide, where they take no room.
    const built = [...page.querySelectorAll(".celltag_built")];
    if (!built.length) continue;
    const foot = document.createElement("footer");
    foot.className = "built";
    foot.append(...built);
    section.append(foot);
  }
  // Predict, then reveal: the next step opens the answer. Model answers and code wait for a click.
  for (const answer of document.querySelectorAll(".page details:not(.answer, .code, .notes *)")) {
    answer.classList.add("fragment", "custom");
  }
  // An answer stays open while what comes after it is shown, unless it needs the answer's room.
  function openLast() {
    const slide = Reveal.getCurrentSlide(), shown = [...slide.querySelectorAll(".fragment.visible")];
    const last = shown.pop(), answer = last && !last.matches("details") ? shown.pop() : null;
    const open = (wanted) => {
      slide.querySelectorAll("details.fragment").forEach((one) => { one.open = wanted.includes(one); });
      return fit(slide);
    };
    if (!answer || !answer.matches("details") || !open([answer])) open([last]);
    showNotes();
  }

  // Each line of code and of printed text is an element, so that the rest of a long one can hang below it.
  for (const text of document.querySelectorAll(".page pre")) {
    const open = [];
    const lines = text.innerHTML.replace(/\n$/, "").split("\n").map((line) => {
      const before = open.join("");
      for (const [tag] of line.matchAll(/<[^>]+>/g)) tag.startsWith("</") ? open.pop() : open.push(tag);
      return before + line + "</span>".repeat(open.length);
    });
    text.innerHTML = lines.map((line) => {
      const indent = line.replace(/<[^>]+>/g, "").match(/^ */)[0].length;
      return `<span class="line" style="--indent: ${indent}ch">${line}</span>`;
    }).join("");
    // What a line with a colon announces, such as a sample, is not divided between columns; nor is a line from
    // those that are indented below it.
    let sample = null;
    const indented = (line) => line ? line.textContent.search(/\S|$/) : 0;
    if (text.closest(".jp-OutputArea-output")) for (const line of [...text.children]) {
      const under = line.nextElementSibling;
      if (line.textContent.endsWith(":") || indented(under) > indented(line)) {
        sample = document.createElement("span");
        sample.className = "sample";
        line.before(sample);
      }
      if (sample) sample.append(line);
    }
  }

  // Short code in a sentence is never broken in its middle.
  for (const code of document.querySelectorAll(".page :not(pre) > code")) {
    code.classList.toggle("whole", code.textContent.length <= SHORT_CODE);
  }

  function restore(page) {
    page.querySelectorAll(".celltag_kept").forEach((one) => { one.hidden = false; });
    page.classList.remove("sided");
    setProse(page, PROSE);
    page.querySelectorAll(".columns").forEach((one) => one.classList.remove("columns"));
    page.querySelectorAll(".shrunk").forEach((one) => {
      one.classList.remove("shrunk");
      one.style.height = one.firstElementChild.style.transform = one.firstElementChild.style.width = "";
    });
  }

  function setProse(page, size) {
    page.style.setProperty("--jp-content-font-size1", `${size}px`);
  }

  // A view keeps its own size in its frame; the frame is drawn smaller.
  function shrinkFrames(page, over) {
    const frame = page.querySelector("iframe");
    if (!frame) return;
    const height = frame.offsetHeight, scale = Math.max(0.5, (height - over - 8) / height);
    frame.parentElement.classList.add("shrunk");
    frame.parentElement.style.height = `${height * scale}px`;
    frame.style.width = `${100 / scale}%`;
    frame.style.transform = `scale(${scale})`;
  }

  // A few sentences alone take a larger type, for the back row; what has steps keeps its type in all of them.
  function enlarge(page, room) {
    const other = "img, pre, table, iframe, .fragment, .jp-OutputArea";
    if ([...page.querySelectorAll(other)].some((one) => !one.closest(".notes, [hidden]"))) return;
    for (let size = PROSE; size < LARGE_PROSE && page.offsetHeight < SPARSE * room;) setProse(page, ++size);
  }

  // Text takes the left half and tall pictures the right one, if that makes them a good deal larger.
  function setAside(page, room) {
    const pictures = [...page.querySelectorAll("img")].filter((one) => one.offsetParent);
    if (!pictures.length || pictures.length > 2 || page.querySelector("iframe")) return;
    if (pictures.some((one) => legible(one) * one.naturalWidth > 528)) return;
    const high = (room - HEADING) / pictures.length;
    const gains = pictures.every((one) => {
      const shape = one.naturalHeight / one.naturalWidth;
      return Math.min(high, 528 * shape) > LARGER * Math.min(one.offsetHeight, one.offsetWidth * shape);
    });
    if (!gains) return;
    page.classList.add("sided");
    pictures.forEach((one, place) => {
      one.style.setProperty("--top", `${HEADING + 24 + place * high}px`);
      one.style.setProperty("--high", `${high}px`);
    });
    if (page.offsetHeight > room) page.classList.remove("sided");
  }

  // By how much a picture may shrink for its type to be legible. Live figures have one size of type; drawn
  // ones are outlines, each under its size in hundredths of a point.
  function legible(picture) {
    if (!picture.src.startsWith("data:image/svg")) return LEAST_TYPE / TYPE;
    if (!picture.dataset.type) {
      const sizes = [...atob(picture.src.split(",")[1]).matchAll(/scale\(([\d.]+) -/g)].map((one) => 100 * one[1]);
      picture.dataset.type = Math.min(...sizes) * 4 / 3;
    }
    return LEAST_TYPE / picture.dataset.type;
  }

  // The height that no picture of a page falls below while other things can give way.
  function leastHeight(page) {
    const pictures = [...page.querySelectorAll("img")].filter((one) => one.offsetParent);
    const heights = pictures.map((one) => one.naturalHeight * Math.min(legible(one), 1200 / one.naturalWidth));
    return Math.min(MOST_PICTURE, Math.max(LAST_PICTURE, ...heights));
  }

  // The highest printed text takes two columns, unless its lines are so long that nothing is gained.
  function setInColumns(page) {
    const outputs = [...page.querySelectorAll(".jp-OutputArea-output pre")].map((pre) => pre.parentElement);
    const highest = outputs.sort((one, other) => other.offsetHeight - one.offsetHeight)[0];
    if (!highest || highest.offsetHeight <= LONG_OUTPUT) return;
    const before = highest.offsetHeight;
    highest.classList.add("columns");
    if (highest.offsetHeight >= before) highest.classList.remove("columns");
  }

  // Returns whether all is seen with its pictures legible, no columns, and no frame made smaller.
  function fit(section, leastScale = LEAST_SCALE) {
    const page = section && section.querySelector(":scope > .page");
    if (!page) return true;
    const style = getComputedStyle(section);
    const room = section.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    let picture = MOST_PICTURE, scale = 1;
    restore(page);
    const tooHigh = () => {
      page.style.setProperty("--picture", `${picture}px`);
      page.style.width = `${100 / scale}%`;
      return page.offsetHeight * scale > room;
    };
    const shrink = (least) => { while (tooHigh() && picture > least) picture = Math.max(least, picture - 10); };
    if (!tooHigh()) enlarge(page, room);
    shrink(leastHeight(page));
    if (tooHigh()) shrinkFrames(page, page.offsetHeight - room);
    if (tooHigh()) setInColumns(page);
    if (picture < MOST_PICTURE) setAside(page, room);
    const condense = () => { for (let size = PROSE; tooHigh() && size > LEAST_PROSE;) setProse(page, --size); };
    condense();
    if (tooHigh() && page.querySelector(".celltag_kept")) {
      page.querySelectorAll(".celltag_kept").forEach((one) => { one.hidden = true; });
      setProse(page, PROSE);
      condense();
      if (!tooHigh()) enlarge(page, room);
    }
    while (tooHigh() && scale > leastScale) scale = Math.max(leastScale, scale - 0.02);
    const made = page.querySelector(".columns, .shrunk") || (scale < 1 && page.querySelector("img"));
    const fits = !tooHigh() && !made;
    shrink(LAST_PICTURE);
    // not `zoom`: the frames of the views would shrink, and what is in them would not
    page.style.transform = scale < 1 ? `scale(${scale})` : "";
    page.style.marginBottom = scale < 1 ? `${(scale - 1) * page.offsetHeight}px` : "";
    page.dataset.scale = scale;
    return fits;
  }

  // A panel for notes on `n` and for the keys on `?`, and a window for the lecturer's own screen on `s`.
  const KEYS = [["→  Space  Page Down", "next step"], ["←  Page Up", "previous step"], ["c", "code of the slide"],
    ["n", "speaker notes"], ["s", "speaker window: notes, this slide and the next, clock"], ["o", "all slides"],
    ["f", "full screen"], ["b", "black screen, and back"], ["p", "a page for each slide, to print; answers to predictions are open"],
    ["?", "these keys"], ["Esc", "close notes or keys; otherwise all slides"]];
  const HELP = `<table class="keys">${KEYS.map(([key, what]) => `<tr><th>${key}</th><td>${what}</td></tr>`).join("")}</table>`;
  const panel = document.createElement("aside");
  panel.className = "speaker";
  panel.hidden = true;
  document.body.append(panel);
  let shown = null, speaker = null, since = 0;

  // What is in the panel: nothing, "notes" or "keys"; the same key again closes it.
  function togglePanel(what) {
    shown = shown === what ? null : what;
    showNotes();
  }

  function showNotes() {
    const notes = Reveal.getSlideNotes();
    panel.hidden = !shown;
    panel.innerHTML = shown === "keys" ? HELP : notes;
    if (!speaker || speaker.closed) return;
    const slides = Reveal.getSlides(), place = slides.indexOf(Reveal.getCurrentSlide());
    const next = slides[place + 1], page = speaker.document;
    page.title = `Notes · ${place + 1} of ${slides.length}`;
    page.getElementById("place").textContent = `${place + 1} of ${slides.length}`;
    page.getElementById("notes").innerHTML = notes;
    page.getElementById("current").replaceChildren(copied(slides[place]));
    fit(next);
    page.getElementById("next").replaceChildren(next ? copied(next) : "This is the last slide.");
  }

  function copied(slide) {
    const copy = slide.cloneNode(true);
    copy.removeAttribute("hidden");
    copy.style = "";
    copy.className = "present";
    return copy;
  }

  function tell() {
    if (!speaker || speaker.closed) return;
    const seconds = Math.floor((Date.now() - since) / 1000), two = (number) => String(number).padStart(2, "0");
    speaker.document.getElementById("clock").textContent = new Date().toTimeString().slice(0, 5);
    speaker.document.getElementById("elapsed").textContent = `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
  }

  function preview(title, id) {
    return `<section><h2>${title}</h2><div class="preview"><div class="reveal"><div class="slides" id="${id}"></div></div></div></section>`;
  }

  function openSpeaker() {
    speaker = window.open("", SPEAKER, "width=1120,height=800");
    if (!speaker) return;
    const page = speaker.document;
    page.head.replaceChildren(...[...document.querySelectorAll("style")].map((one) => one.cloneNode(true)));
    page.body.className = "speaker-window";
    page.body.innerHTML = `<header><b id="place"></b><span>time <b id="clock"></b></span>
      <span>elapsed <b id="elapsed"></b></span><button id="restart">Restart</button></header>
      <main id="notes"></main><footer>${preview("Now", "current")}${preview("Next", "next")}</footer>`;
    const resize = () => page.body.style.setProperty("--preview", Math.min(0.4, (speaker.innerWidth - 90) / 2560));
    speaker.onresize = resize;
    resize();
    since = Date.now();
    page.getElementById("restart").onclick = (event) => { since = Date.now(); tell(); event.target.blur(); };
    page.onkeydown = (event) => {
      if (["ArrowRight", " ", "PageDown"].includes(event.key)) ahead(event);
      if (["ArrowLeft", "PageUp"].includes(event.key)) back();
    };
    showNotes();
    tell();
  }
  setInterval(tell, 1000);
  // A deck that is loaded again cannot reach the window of the one before, and opens one of its own.
  const SPEAKER = `speaker-notes-${Date.now()}`;
  window.addEventListener("pagehide", () => { if (speaker) speaker.close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "?") togglePanel("keys");
    if (event.key !== "Escape" || !shown) return;
    togglePanel(shown);  // before anything else that the key does
    event.stopImmediatePropagation();
  }, true);

  // Of an exercise that is taller than its slide, the keys go through all before they go on.
  function scrolled(way) {
    const slide = Reveal.getCurrentSlide(), before = slide.scrollTop;
    if (Reveal.isOverview() || slide.scrollHeight < slide.clientHeight + 10) return false;
    slide.scrollBy(0, way * 0.8 * slide.clientHeight);
    return slide.scrollTop !== before;
  }
  const back = () => scrolled(-1) || Reveal.prev();
  const ahead = (event) => event.shiftKey ? back() : scrolled(1) || Reveal.next();

  // A click on an answer, or into a view with a document of its own, would take the keys along.
  document.addEventListener("click", (event) => {
    if (event.detail && event.target.closest("summary")) document.activeElement.blur();
  });
  window.addEventListener("blur", () => setTimeout(() => {
    if (document.activeElement.tagName === "IFRAME") document.activeElement.blur();
  }));

  function toggleCode() {
    const codes = [...Reveal.getCurrentSlide().querySelectorAll("details.code")];
    const open = codes.some((one) => !one.open);
    codes.forEach((one) => { one.open = open; });
  }

  Reveal.initialize({
    width: 1280, height: 720, margin: 0, minScale: 0.2, maxScale: 3, center: false,
    pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1, hash: true, slideNumber: "c/t", navigationMode: "linear", progress: false, transition: "none", help: false,
    keyboard: { 32: ahead, 34: ahead, 39: ahead, 40: ahead, 33: back, 37: back, 38: back, 36: () => Reveal.slide(0, 0), 67: toggleCode, 78: () => togglePanel("notes"), 80: () => { location.search = "print-pdf"; }, 83: openSpeaker, 191: null },  // not black at a slash
    keyboardCondition: () => document.activeElement.tagName !== "SUMMARY",
  }).then(() => { fit(Reveal.getCurrentSlide()); showNotes(); });
  Reveal.on("slidechanged", () => {
    // After a jump, the next step goes through all slides, not to where each column was seen last.
    document.querySelectorAll("[data-previous-indexv]").forEach((one) => one.removeAttribute("data-previous-indexv"));
    openLast();
    fitSeen();
  });
  // Among all slides, those that were not shown yet are fitted as well.
  const fitSeen = () => Reveal.isOverview() && Reveal.getSlides().filter((one) => one.clientHeight).forEach((one) => fit(one));
  Reveal.on("overviewshown", fitSeen);
  Reveal.on("fragmentshown", openLast);
  Reveal.on("fragmenthidden", openLast);
  // On paper all answers of a slide are open, and its type is as small as that takes.
  Reveal.on("pdf-ready", () => {
    document.querySelectorAll(".page details:not(.answer, .code)").forEach((one) => { one.open = true; });
    document.querySelectorAll(".pdf-page > section").forEach((section) => fit(section, 0.5));
  });
  window.addEventListener("load", () => fit(Reveal.getCurrentSlide()));
  // neither bubbles: catch them on their way down; a picture has no height before it is loaded
  for (const event of ["toggle", "load"]) {
    document.addEventListener(event, () => fit(Reveal.getCurrentSlide()), true);
  }
})();
