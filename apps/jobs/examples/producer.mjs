// Adds jobs with fetch, and watches until they are done.
//
// usage: node producer.mjs http://localhost:8080 QUEUE

const ann = { payload: { to: "ann" }, key: "welcome ann" };
const bob = { payload: { to: "bob" }, key: "welcome bob" };
const cem = { payload: { to: "cem" }, key: "welcome cem", priority: 5 };
const linesAtOnce = 1000; // fetch gives the answer when it has sent everything: not too much, then

const [url, name] = process.argv.slice(2);
const queue = `${url}/v1/queues/${name}`;

/** Adds one job; its id, or undefined if it is there already. */
async function add(job) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${queue}/jobs`, { method: "POST", headers, body: JSON.stringify(job) });
  const told = await answer.json();
  if (answer.status === 201) {
    console.log(`added ${told.id}`);
    return told.id;
  }
  if (told.code !== "duplicate") throw new Error(told.detail); // a problem (RFC 9457), with a code
  console.log(`duplicate of ${told.existing_id} (${told.state})`);
}

/** Adds jobs line by line; the ids of those that were not there. */
async function addMany(jobs) {
  const ids = [];
  for (let begin = 0; begin < jobs.length; begin += linesAtOnce) {
    const some = jobs.slice(begin, begin + linesAtOnce);
    const body = some.map((job) => JSON.stringify(job) + "\n").join("");
    const headers = { "Content-Type": "application/x-ndjson" };
    const answer = await fetch(`${queue}/jobs`, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(await answer.text());
    const outcomes = (await answer.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
    const { summary } = outcomes.pop();
    for (const { i, outcome } of outcomes) console.log(`line ${i}: ${outcome}`);
    console.log(Object.entries(summary).map(([what, count]) => `${what}:${count}`).join(","));
    ids.push(...outcomes.filter(({ outcome }) => outcome === "enqueued").map(({ id }) => id));
  }
  return ids;
}

/** An answer that events come over: from now on, or behind the one of that id. */
async function watch(lastId) {
  const headers = lastId ? { "Last-Event-ID": lastId } : {};
  const answer = await fetch(`${queue}/events`, { headers });
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

/** {event, data, id} as they come. In a browser EventSource does all this. */
async function* events(answer) {
  let lastId;
  for (;;) {
    try {
      answer ??= await watch(lastId);
      let text = "";
      for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
        const blocks = (text + piece).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/)));
          lastId = fields.id ?? lastId;
          if (fields.event) yield { event: fields.event, data: JSON.parse(fields.data) };
        }
      }
    } catch (error) {
      console.error(error.message);
    }
    answer = undefined; // connects again, and misses nothing
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function isThere(id) {
  return (await fetch(`${queue}/jobs/${id}`)).status !== 404;
}

const answer = await watch();
const ids = [await add(ann), await add(ann), ...(await addMany([bob, ann, cem]))];
const waiting = new Set(ids.filter((id) => id !== undefined));
const count = waiting.size;
for await (const { event, data } of events(answer)) {
  if (event === "completed") waiting.delete(data.id);
  if (event === "reset") { // some were missed: the server was started again, say
    for (const id of waiting) if (!(await isThere(id))) waiting.delete(id);
  }
  if (waiting.size === 0) break;
}
console.log(`${count} jobs are done`);
