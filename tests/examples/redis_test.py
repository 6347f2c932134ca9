#!/usr/bin/env python3
"""The Redis server against redis-cli, redis-benchmark, and clients that send whatever they like.

usage: redis_test.py <redis>
"""

import re
import shutil
import socket
import subprocess
import sys

from programs import PATIENCE_S, Program, check, equal, eventually, run_tests

CONVERSATION = [
    ("PING", "PONG"),
    ("ECHO 'two words'", '"two words"'),
    ("GET a", "(nil)"),
    ("SET a 5", "OK"),
    ("INCR a", "(integer) 6"),
    ("INCRBY a -10", "(integer) -4"),
    ("DECR b", "(integer) -1"),
    ("EXISTS a b c", "(integer) 2"),
    ("DEL a b c", "(integer) 2"),
    ("SET a x NX", "OK"),
    ("SET a y NX", "(nil)"),
    ("INCR a", "(error) ERR value is not an integer or out of range"),
    ("SET n 9223372036854775807", "OK"),
    ("INCR n", "(error) ERR increment or decrement would overflow"),
    ("TTL a", "(integer) -1"),
    ("EXPIRE a 100", "(integer) 1"),
    ("TTL a", "(integer) 100"),
    ("EXPIRE nothing 1", "(integer) 0"),
    ("TTL nothing", "(integer) -2"),
    ("EXPIRE a -1", "(integer) 1"),
    ("GET a", "(nil)"),
    ("SET a x EX 0", "(error) ERR invalid expire time in 'set' command"),
    ("SET a x PY 1", "(error) ERR syntax error"),
    ("RPUSH l 1 2 3", "(integer) 3"),
    ("LPUSH l 0", "(integer) 4"),
    ("LLEN l", "(integer) 4"),
    ("GET l", "(error) WRONGTYPE Operation against a key holding the wrong kind of value"),
    ("LPOP l", '"0"'),
    ("RPOP l", '"3"'),
    ("LRANGE l -1 -1", '1) "2"'),
    ("LRANGE l 5 9", "(empty array)"),
    ("SADD s m m", "(integer) 1"),
    ("SPOP s", '"m"'),
    ("SPOP s", "(nil)"),
    ("HSET h f v f2 w", "(integer) 2"),
    ("HGET h f2", '"w"'),
    ("ZADD z 2 b 1.5 a", "(integer) 2"),
    ("ZADD z 3 b", "(integer) 0"),
    ("ZPOPMIN z", '1) "a"\n2) "1.5"'),
    ("ZADD z nan c", "(error) ERR value is not a valid float"),
    ("MSET a", "(error) ERR wrong number of arguments for 'mset' command"),
    ("MSET a 1 b 2", "OK"),
    ("GET", "(error) ERR wrong number of arguments for 'get' command"),
    ("WAT 1", "(error) ERR unknown command 'wat'"),
]


def running(program):
    return Program(program, "127.0.0.1:0")


def client_of(server):
    return socket.create_connection(server.address(), timeout=PATIENCE_S)


def receive(client, count):
    data = b""
    while len(data) < count:
        piece = client.recv(count - len(data))
        if not piece:
            break
        data += piece
    return data


def talk(server, request, reply):
    with client_of(server) as client:
        client.sendall(request)
        equal(receive(client, len(reply)), reply, repr(request)[:100])


def tool(name, server, *arguments, **options):
    host, port = server.address()
    return subprocess.run(
        [name, "-h", host, "-p", str(port), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S * 3,
        **options,
    )


def test_redis_cli(program):
    if not shutil.which("redis-cli"):
        print("skipped: redis-cli is not there")
        return
    with running(program) as server:
        lines = "".join(request + "\n" for request, _ in CONVERSATION)
        got = tool("redis-cli", server, "--no-raw", input=lines).stdout
        got = re.sub(r"\n\n", "\n", got)
        want = "".join(reply + "\n" for _, reply in CONVERSATION)
        equal(got.splitlines(), want.splitlines(), "replies")


# Later versions have streams, too.
TESTS = "ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange,mset"


def test_redis_benchmark(program):
    """All of its tests but those of types that there are not, with and without pipelining."""
    if not shutil.which("redis-benchmark"):
        print("skipped: redis-benchmark is not there")
        return
    with running(program) as server:
        for depth in ("1", "16"):
            done = tool("redis-benchmark", server, "-n", "400", "-c", "20", "-P", depth, "--csv",
                        "-t", TESTS)
            equal(done.returncode, 0, done.stdout)
            rows = [line for line in done.stdout.splitlines() if line.startswith('"')]
            check(len(rows) >= 20, f"its tests: {done.stdout}")
            check("rror" not in done.stdout, f"an error: {done.stdout}")


def test_requests_however_they_arrive(program):
    request = b"*2\r\n$4\r\nECHO\r\n$7\r\nhe\r\nllo\r\nPING\r\n\r\n*0\r\nping  x\n"
    reply = b"$7\r\nhe\r\nllo\r\n+PONG\r\n$1\r\nx\r\n"
    with running(program) as server:
        talk(server, request, reply)
        talk(server, request * 5000, reply * 5000)
        with client_of(server) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(request)):
                client.sendall(request[i : i + 1])
            equal(receive(client, len(reply)), reply, "byte by byte")
        large = b"x" * 3_000_000
        set_it = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000000\r\n" + large + b"\r\n"
        talk(server, set_it, b"+OK\r\n")
        talk(server, b"GET k\r\n", b"$3000000\r\n" + large + b"\r\n")


def test_what_is_no_request(program):
    wrong = {
        b"*x\r\n": b"invalid multibulk length",
        b"*1048577\r\n": b"invalid multibulk length",
        b"*1\r\n:1\r\n": b"expected '$'",
        b"*1\r\n$-1\r\n": b"invalid bulk length",
        b"*1\r\n$99999999999\r\n": b"invalid bulk length",
        b"a" * 70_000: b"too big inline request",
    }
    with running(program) as server:
        for request, reason in wrong.items():
            with client_of(server) as client:
                client.sendall(b"PING\r\n" + request)
                reply = b"+PONG\r\n-ERR Protocol error: " + reason + b"\r\n"
                equal(receive(client, len(reply) + 1), reply, repr(request)[:50])
        talk(server, b"*1\r\n$6\r\na\r\nb+c\r\n", b"-ERR unknown command 'a??b+c'\r\n")


def test_keys_end(program):
    with running(program) as server:
        talk(server, b"SET k v PX 20\r\nTTL k\r\n", b"+OK\r\n:0\r\n")

        def gone():
            with client_of(server) as client:
                client.sendall(b"GET k\r\n")
                return receive(client, 5) == b"$-1\r\n"

        eventually(gone, "the key has gone")
        talk(server, b"EXISTS k\r\n", b":0\r\n")


def test_it_ends_with_clients(program):
    with running(program) as server:
        with client_of(server) as client:
            client.sendall(b"PING\r\n*2\r\n$4\r\n")
            equal(receive(client, 7), b"+PONG\r\n", "a reply")
            client.shutdown(socket.SHUT_WR)
            equal(client.recv(1), b"", "half a request is dropped at the end")


if __name__ == "__main__":
    run_tests(dict(globals()), *sys.argv[1:])
