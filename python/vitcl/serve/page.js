// The page: searches, shows what was found, and moves by keyboard.
"use strict";

const at = (id) => document.getElementById(id);
const main = at("hits"), words = at("words"), large = at("large");
let hits = [], version = "", shown = 0, asking = 0;

function say(text, wrong) {
  at("state").textContent = text;
  at("state").className = wrong ? "wrong" : "";
}

// ---- searches

async function search(query, what) {
  const turn = ++asking;
  say("Searching …");
  let answer;
  try {
    const got = await fetch("search", {method: "POST", ...query});
    answer = await got.json();
    if (!got.ok) throw new Error(answer.error);
  } catch (e) {
    if (turn === asking) say(e.message, true);
    return;
  }
  if (turn !== asking) return; // an older search
  hits = answer.hits;
  version = answer.version;
  if (large.open) large.close();
  draw();
  say(`${hits.length} ${hits.length === 1 ? "picture" : "pictures"} ${what}`);
}

function byJson(value, what) {
  return search({body: JSON.stringify(value), headers: {"content-type": "application/json"}}, what);
}

function byPicture(file) {
  const form = new FormData();
  form.append("image", file);
  words.value = "";
  return search({body: form}, `like ${file.name || "the picture"}`);
}

function moreLike(n) {
  const hit = hits[n];
  if (!hit) return;
  words.value = "";
  byJson({row: hit.row, version}, `like ${hit.name}`);
}

// ---- what was found

function draw() {
  const focused = main.contains(document.activeElement);
  main.replaceChildren(...hits.map((hit, n) => {
    const cell = document.createElement("button"), image = document.createElement("img");
    const line = document.createElement("span"), name = document.createElement("b");
    cell.type = "button";
    cell.tabIndex = n ? -1 : 0;
    cell.title = hit.name;
    image.loading = "lazy";
    image.alt = hit.name;
    image.src = `thumbnails/${version}/${hit.row}`;
    name.textContent = hit.name;
    line.append(name, hit.cosine === undefined ? "" : hit.cosine.toFixed(2));
    cell.append(image, line);
    cell.onclick = () => show(n);
    cell.onfocus = () => mark(n);
    return cell;
  }));
  window.scrollTo(0, 0);
  if (focused && main.firstChild) main.firstChild.focus();
}

// The grid is one stop of the Tab key: arrows move inside.
function mark(n) {
  [...main.children].forEach((cell, i) => { cell.tabIndex = i === n ? 0 : -1; });
}

function columns() {
  const cells = [...main.children];
  const next = cells.findIndex((cell) => cell.offsetTop > cells[0].offsetTop);
  return next < 0 ? cells.length : next;
}

// ---- one picture

function show(n) {
  if (!hits[n]) return;
  const hit = hits[n], whole = at("whole");
  shown = n;
  whole.onerror = () => { // a format that browsers do not show
    whole.onerror = null;
    whole.src = `thumbnails/${version}/${hit.row}`;
  };
  whole.src = at("original").href = `pictures/${version}/${hit.row}`;
  whole.alt = hit.name;
  at("caption").textContent =
    hit.cosine === undefined ? hit.name : `${hit.name}, cosine ${hit.cosine.toFixed(3)}`;
  at("before").disabled = n === 0;
  at("after").disabled = n === hits.length - 1;
  if (!large.open) large.showModal();
}

large.onclose = () => { const cell = main.children[shown]; if (cell) cell.focus(); };
large.onclick = (event) => { if (event.target === large) large.close(); };
at("before").onclick = () => show(shown - 1);
at("after").onclick = () => show(shown + 1);
at("like").onclick = () => moreLike(shown);
at("close").onclick = () => large.close();

// ---- what comes from the user

at("form").onsubmit = (event) => {
  event.preventDefault();
  const text = words.value.trim();
  if (text) byJson({text}, `for “${text}”`);
};
at("file").onchange = () => {
  if (at("file").files[0]) byPicture(at("file").files[0]);
  at("file").value = "";
};
at("choose").onkeydown = (event) => {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    at("file").click();
  }
};

document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (large.open) {
    if (step) show(shown + step);
    if (event.key.toLowerCase() === "m") moreLike(shown);
    return;
  }
  if (event.target === words) {
    if (event.key === "ArrowDown" && main.firstChild) {
      event.preventDefault();
      main.firstChild.focus();
    }
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    words.focus();
    words.select();
    return;
  }
  const here = [...main.children].indexOf(document.activeElement);
  if (here < 0) return;
  const to = {ArrowUp: here - columns(), ArrowDown: here + columns(), Home: 0,
              End: hits.length - 1}[event.key] ?? (step ? here + step : -1);
  if (main.children[to]) {
    event.preventDefault();
    main.children[to].focus();
  }
  if (event.key.toLowerCase() === "m") moreLike(here);
};

document.ondragover = (event) => { event.preventDefault(); document.body.classList.add("over"); };
document.ondragleave = () => document.body.classList.remove("over");
document.ondrop = (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  if (event.dataTransfer.files[0]) byPicture(event.dataTransfer.files[0]);
};
document.onpaste = (event) => {
  const file = [...event.clipboardData.files].find((f) => f.type.startsWith("image/"));
  if (file) byPicture(file);
};

// ---- at the start

fetch("album").then((got) => got.json()).then((album) => {
  document.title = at("name").textContent = album.name;
  if (asking) return; // a search was faster
  ({hits, version} = album);
  draw();
  say(`${album.pictures} pictures`);
}).catch(() => say("The server does not answer", true));
