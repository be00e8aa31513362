// What is wrong with the page that is open: clipped, beyond the edge, not shown.
() => {
  const wrong = [];
  const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "")
    + (typeof e.className === "string" && e.className ? "." + e.className.split(" ").join(".") : "")
    + ": " + (e.textContent || "").trim().slice(0, 40);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    wrong.push(`the page scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
    const wide = [...document.querySelectorAll("article *")]
      .filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(e));
    if (wide.length) wrong.push("  because of " + name(wide[0]));
  }
  function scrolls(e) {
    for (let up = e; up && up !== document.body; up = up.parentElement) {
      const look = getComputedStyle(up);
      if (["auto", "scroll"].includes(look.overflowX)) return true;
      if (look.position === "fixed") return true;
    }
    return false;
  }
  for (const e of document.querySelectorAll("article *")) {
    if (!e.checkVisibility || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (!box.width || !box.height || e.closest("svg, .visually-hidden, .sr-only")) continue;
    const look = getComputedStyle(e);
    if (look.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && look.position !== "absolute")
      wrong.push("clipped: " + name(e));
    if (box.right > root.clientWidth + 1 && !scrolls(e)) wrong.push("beyond the edge: " + name(e));
  }
  for (const e of document.querySelectorAll("article img")) {
    if (!e.checkVisibility()) continue;
    if (!e.complete || !e.naturalWidth) wrong.push("not shown: " + e.src);
  }
  for (const e of document.querySelectorAll("article .tree-picture svg, article svg.leafwise-diagram")) {
    const box = e.getBoundingClientRect();
    if (box.width < 20 || box.height < 10) wrong.push("not drawn: " + name(e));
  }
  return [...new Set(wrong)];
}
