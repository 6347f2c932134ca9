// A line of the recent past.

const namespace = "http://www.w3.org/2000/svg";
const width = 120; // of the viewBox
const height = 32;

/// Draws values, the newest last, so that `room` of them fill the width; null: not known. Returns
/// the largest.
export function drawSpark(svg, values, room) {
  if (!svg.firstChild) {
    for (const name of ["area", "line"]) {
      const path = document.createElementNS(namespace, "path");
      path.setAttribute("class", name);
      svg.append(path);
    }
  }
  const most = Math.max(1, ...values.map((v) => v ?? 0));
  const begin = room - values.length;
  const x = (i) => (((begin + i) * width) / (room - 1)).toFixed(1);
  let line = "";
  let area = "";
  values.forEach((v, i) => {
    if (v === null) return;
    const point = `${x(i)} ${(height - 2 - ((height - 4) * v) / most).toFixed(1)}`;
    const begins = i === 0 || values[i - 1] === null;
    const ends = i + 1 === values.length || values[i + 1] === null;
    line += `${begins ? "M" : "L"}${point}`;
    area += `${begins ? `M${x(i)} ${height}L` : "L"}${point}`;
    if (ends) {
      line += "h.1"; // a point alone shows, too
      area += `L${x(i)} ${height}Z`;
    }
  });
  svg.children[0].setAttribute("d", area);
  svg.children[1].setAttribute("d", line);
  return most;
}

export function makeSpark() {
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  return svg;
}
