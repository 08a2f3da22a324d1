// What is wrong with the layout of the page: cut off, overlapping, beyond the window.
() => {
  const faults = [];
  const name = e => `${e.tagName} "${(e.innerText || e.value || '').slice(0, 30)}"`;
  const shown = e => e.checkVisibility() && e.getBoundingClientRect().width > 0;
  for (const area of document.querySelectorAll('.mantine-ScrollArea-viewport')) {
    if (shown(area) && area.scrollWidth > area.clientWidth + 1)
      faults.push(`scrolls sideways by ${area.scrollWidth - area.clientWidth}: ${name(area)}`);
  }
  const texts = '#robodyn-state, #robodyn-fault, #robodyn-hint, .robodyn-box div';
  const inputs = [...document.querySelectorAll('button, input, label, [role=tab]')].filter(
    e => shown(e) && !e.closest('.mantine-Notification-root') && getComputedStyle(e).opacity > 0);
  for (const e of [...document.querySelectorAll(texts), ...inputs]) {
    if (!shown(e)) continue;
    const box = e.getBoundingClientRect();
    if (box.left < -1 || box.right > innerWidth + 1) faults.push(`beyond the window: ${name(e)}`);
    if (e.tagName !== 'LABEL' && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
      faults.push(`cut off: ${name(e)}`);
  }
  inputs.forEach((a, i) => inputs.slice(i + 1).forEach(b => {
    if (a.contains(b) || b.contains(a)) return;
    const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 2 && high > 2 && !a.closest('.mantine-NumberInput-root')?.contains(b))
      faults.push(`overlap: ${name(a)}, ${name(b)}`);
  }));
  return faults;
}
