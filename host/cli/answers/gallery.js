'use strict';
(() => {
  const all = [...document.querySelectorAll('figure')];
  const form = document.forms[0], [pick, find] = form.elements, said = form.querySelector('output');
  const groups = new Map();
  const having = c => all.filter(f => f.classList.contains(c)).length;
  const add = (text, n, value) => n && pick.add(new Option(`${text} (${n})`, value));
  for (const f of all)
    if ('g' in f.dataset)
      groups.set(f.dataset.g, (groups.get(f.dataset.g) || 0) + 1);
  add('all', all.length, 'a');
  add('not sure', having('u'), 'u');
  add('could not be read', having('e'), 'e');
  for (const [name, n] of [...groups].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)))
    add(name, n, 'g' + name);
  const picked = (f, v) => v === 'a' || (v === 'u' || v === 'e' ? f.classList.contains(v) : f.dataset.g === v.slice(1));
  const show = () => {
    const word = find.value.toLowerCase();
    let n = 0;
    for (const f of all) {
      const on = picked(f, pick.value) && f.querySelector('bdi').textContent.toLowerCase().includes(word);
      f.hidden = !on;
      n += on;
    }
    for (const s of document.querySelectorAll('section'))
      s.hidden = !s.querySelector('figure:not([hidden])');
    said.textContent = `${n} of ${all.length}`;
  };
  form.addEventListener('input', show);
  form.addEventListener('submit', e => e.preventDefault());
  document.addEventListener('keydown', e => {
    if (e.key === '/' && e.target !== find) {
      e.preventDefault();
      find.focus();
    } else if (e.key === 'Escape') {
      find.value = '';
      pick.value = 'a';
      show();
    }
  });
  form.hidden = all.length < 2;
  if (all.length)
    show();
})();
