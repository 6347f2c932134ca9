// Jobs with their payloads as the server wrote them: a number of JavaScript has 53 bits and no
// zeros at its end. The texts are known to be JSON: JSON.parse() has taken them.

const space = /\s*/y;
const word = /[^\s,\]}]+/y; // a number, or one of the three names
const string = /"[^"\\]*(?:\\.[^"\\]*)*"/ys;

function end(pattern, text, at) {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}

const skipSpace = (text, at) => end(space, text, at);

/// Behind the value that begins at `at`. Without recursion: payloads may be deep.
function skip(text, at) {
  let depth = 0;
  do {
    at = skipSpace(text, at);
    const c = text[at];
    if (c === '"') at = end(string, text, at);
    else if (c === "{" || c === "[") { depth += 1; at += 1; }
    else if (c === "}" || c === "]") { depth -= 1; at += 1; }
    else if (c === "," || c === ":") at += 1;
    else at = end(word, text, at);
  } while (depth > 0);
  return at;
}

/// The texts of the members of an object, as [name, value].
function* members(text) {
  let at = skipSpace(text, 1);
  while (text[at] !== "}") {
    const name_end = end(string, text, at);
    const name = text.slice(at, name_end);
    at = skipSpace(text, skipSpace(text, name_end) + 1);
    const value_end = skip(text, at);
    yield [name, text.slice(at, value_end)];
    at = skipSpace(text, value_end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
}

/// The texts of the elements of an array.
function* elements(text) {
  let at = skipSpace(text, 1);
  while (text[at] !== "]") {
    const value_end = skip(text, at);
    yield text.slice(at, value_end);
    at = skipSpace(text, value_end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
}

function memberOf(text, wanted) {
  for (const [name, value] of members(text)) {
    if (name === wanted) return value;
  }
  return undefined;
}

/// What an answer says; each of its `jobs` has the text of its payload as `raw`.
export function parseAnswer(text) {
  const answer = JSON.parse(text);
  if (Array.isArray(answer?.jobs)) {
    let i = 0;
    for (const job of elements(memberOf(text.trim(), '"jobs"')))
      answer.jobs[i++].raw = memberOf(job, '"payload"');
  }
  return answer;
}

/// By their code points, as the server sorts by bytes of UTF-8. (`<` goes by units of UTF-16.)
function compare(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((c, i) => c !== right[i]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? left[at].codePointAt(0) - right[at].codePointAt(0) : 1;
}

/// As the server writes the key of what is no text: members sorted, no white space.
export function canonical(text) {
  if (text[0] === "[") return `[${[...elements(text)].map(canonical).join(",")}]`;
  if (text[0] !== "{") return text;
  const named = [...members(text)].map(([name, value]) => [JSON.parse(name), name, value]);
  const sorted = named.sort(([a], [b]) => compare(a, b));
  return `{${sorted.map(([, name, value]) => `${name}:${canonical(value)}`).join(",")}}`;
}
