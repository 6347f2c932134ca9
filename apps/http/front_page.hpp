#pragma once

namespace rota_http {

/// The page at /: what there is to try. Needs nothing from anywhere else.
inline constexpr const char* front_page = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rota</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto;
         padding: 0 1rem; }
  h1 { margin-bottom: 0; }
  table { border-collapse: collapse; width: 100%; }
  td { padding: .3rem .8rem .3rem 0; vertical-align: top; border-top: 1px solid #8884; }
  code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
  pre { padding: .8rem; overflow-x: auto; background: #8882; border-radius: .4rem; }
</style>
</head>
<body>
<h1>Rota</h1>
<p>This page came through a reactor, and the handler that made it ran on the worker that was least
loaded when you connected. Handlers are plain functions, or coroutines where they have to wait.
Things to try:</p>
<table>
<tr><td><a href="/plaintext"><code>/plaintext</code></a></td><td>a short text</td></tr>
<tr><td><a href="/json"><code>/json</code></a></td><td>a short JSON object</td></tr>
<tr><td><code>POST /echo</code></td><td>your content, with your content type</td></tr>
<tr><td><a href="/hello/world"><code>/hello/{name}</code></a></td><td>a greeting</td></tr>
<tr><td><a href="/bytes/16384"><code>/bytes/{count}</code></a></td>
    <td>so many bytes, up to a mebibyte</td></tr>
<tr><td><a href="/sleep/500"><code>/sleep/{ms}</code></a></td>
    <td>an answer after so many milliseconds; no thread waits</td></tr>
<tr><td><a href="/stream"><code>/stream</code></a></td>
    <td>lines, one after the other; <code>?lines=</code>,
    <code>&amp;interval_ms=</code></td></tr>
<tr><td><a href="/metrics"><code>/metrics</code></a></td>
    <td>figures, as Prometheus reads them</td></tr>
<tr><td><a href="/healthz"><code>/healthz</code></a></td>
    <td>200, or 503 while the server drains</td></tr>
<tr><td><a href="/debug/tasks"><code>/debug/tasks</code></a></td>
    <td>every blocked routine: what it waits for, where, since when</td></tr>
<tr><td><a href="/v1/queues"><code>/v1/queues</code></a></td>
    <td>job queues in which a job is there once</td></tr>
</table>
<h2>The job queues</h2>
<p>A job is there at most once, queued or in progress. What is taken and not acknowledged in time
comes back to its old place.</p>
<pre>
curl -i localhost:8080/v1/queues/mail/jobs -H 'Content-Type: application/json' \
     -d '{"payload": {"to": "ann"}}'
curl localhost:8080/v1/queues/mail/take -H 'Content-Type: application/json' \
     -d '{"max": 10, "wait_ms": 5000}'
curl localhost:8080/v1/queues/mail/ack -H 'Content-Type: application/json' \
     -d '{"acks": [{"lease_id": "..."}]}'
curl localhost:8080/v1/queues/mail</pre>
</body>
</html>
)html";

} // namespace rota_http
