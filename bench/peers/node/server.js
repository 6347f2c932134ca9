"use strict";
// Node's own http server; with several workers, node's own cluster of processes.
const cluster = require("node:cluster");
const http = require("node:http");

const [port, workers] = process.argv.slice(2).map(Number);

function fixed(type, text) {
    const body = Buffer.from(text);
    return { body, head: ["Content-Type", type, "Content-Length", String(body.length)] };
}

const plain = "text/plain; charset=utf-8";
const pages = {
    __proto__: null,
    "/plaintext": fixed(plain, "Hello, World!"),
    "/json": fixed("application/json", '{"message":"Hello, World!"}'),
    "/16k": fixed(plain, "x".repeat(16 * 1024)),
    "/1m": fixed(plain, "x".repeat(1024 * 1024)),
};

function echo(request, response) {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
        const body = Buffer.concat(pieces);
        const type = request.headers["content-type"] ?? "application/octet-stream";
        response.writeHead(200, { "Content-Type": type, "Content-Length": body.length });
        response.end(body);
    });
}

function answer(request, response) {
    const page = pages[request.url];
    if (page !== undefined && request.method === "GET") {
        response.writeHead(200, page.head);
        response.end(page.body);
    } else if (request.url === "/echo" && request.method === "POST") {
        echo(request, response);
    } else {
        response.writeHead(404, { "Content-Length": 0 });
        response.end();
    }
}

if (cluster.isPrimary && workers > 1) {
    for (let i = 0; i < workers; ++i) cluster.fork();
    process.on("SIGTERM", () => {
        for (const worker of Object.values(cluster.workers)) worker.process.kill("SIGTERM");
        process.exit(0);
    });
} else {
    const server = http.createServer({ requestTimeout: 0, headersTimeout: 0 }, answer);
    server.keepAliveTimeout = 75_000;
    server.listen({ port, host: "127.0.0.1", backlog: 4096 });
}
