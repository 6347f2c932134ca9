// What the live feed has told of each queue in the last minutes. It begins when the page is opened.

const kept = 60; // points
const point_ms = 5000; // each stands for so much: five minutes in all
const rate_over_ms = 10000;
const forgotten_ms = 15000; // of a queue that is told of no more; a look that is late is no end

/// How many points fill the width: a minute's, and more as time goes by.
export const roomFor = (values) => Math.max(12, values.length);

class Trend {
  constructor() {
    this.looks = []; // of the last seconds, for rates
    this.points = []; // {queued, in_progress, completed_per_s}, the newest last
  }

  add(queue, now_ms) {
    const last = this.looks.at(-1);
    if (last && (now_ms - last.at_ms > forgotten_ms || queue.completed < last.completed))
      this.looks = []; // the server was away, or is another
    this.looks.push({ at_ms: now_ms, completed: queue.completed, failures: queue.failures });
    while (this.looks.length > 2 && now_ms - this.looks[0].at_ms > rate_over_ms) this.looks.shift();
    const slot = Math.floor(now_ms / point_ms);
    const point = { slot, queued: queue.queued, in_progress: queue.in_progress,
      completed_per_s: this.perSecond("completed") };
    const before = this.points.at(-1)?.slot ?? slot;
    if (before === slot) this.points.pop();
    for (let s = Math.max(before + 1, slot - kept); s < slot; ++s)
      this.points.push({ slot: s, queued: null, in_progress: null, completed_per_s: null });
    this.points.push(point);
    while (this.points.length > kept) this.points.shift();
  }

  /// null as long as there is nothing to compare with.
  perSecond(what) {
    const first = this.looks[0];
    const last = this.looks.at(-1);
    if (first === last || last.at_ms <= first.at_ms) return null;
    return (1000 * (last[what] - first[what])) / (last.at_ms - first.at_ms);
  }

  values(what) {
    return this.points.map((point) => point[what]);
  }
}

const trends = new Map(); // by queue

export const trendOf = (name) => trends.get(name);

export function addTrends(queues, now_ms) {
  for (const queue of queues) {
    if (!trends.has(queue.queue)) trends.set(queue.queue, new Trend());
    trends.get(queue.queue).add(queue, now_ms);
  }
  for (const [name, trend] of trends) {
    if (now_ms - trend.looks.at(-1).at_ms > point_ms * kept) trends.delete(name);
  }
}
