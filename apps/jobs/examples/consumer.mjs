// Takes jobs with fetch, does them, and tells what became of them: until so many are done.
//
// usage: node consumer.mjs http://localhost:8080 QUEUE COUNT

const [url, name, wanted] = process.argv.slice(2);
const queue = `${url}/v1/queues/${name}`;

async function post(path, value) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${queue}/${path}`, { method: "POST", headers, body: JSON.stringify(value) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** The work. Bob's letter comes back the first time. */
function deliver({ payload, attempt }) {
  if (payload.to === "bob" && attempt === 1) throw new Error("no such address");
  return `delivered to ${payload.to}`;
}

for (let done = 0; done < Number(wanted); ) {
  const acks = [];
  const retries = [];
  // As soon as there is one; an empty list if none came in that time.
  const { jobs } = await post("take", { max: 10, wait_ms: 30_000 });
  for (const job of jobs) {
    const { lease_id } = job;
    let outcome;
    try {
      outcome = deliver(job);
      acks.push({ lease_id });
    } catch (error) {
      outcome = error.message;
      retries.push({ lease_id, delay_ms: 100, error: outcome });
    }
    console.log(`job ${job.id}, attempt ${job.attempt}: ${outcome}`);
  }
  if (jobs.length === 0) continue;
  const result = await post("ack", { acks, retries });
  done += result.acked;
  if (result.lost.length > 0) console.error(`lost: ${result.lost}`); // somebody else may do them, too
}
