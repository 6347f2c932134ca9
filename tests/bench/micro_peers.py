#!/usr/bin/env python3
"""Each peer of rota-micro is built, and measures cases that rota-micro has.

usage: micro_peers.py <rota-micro> <folder for what is built>     exits 77 if no peer can be built
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "bench/micro"
CASES_LEAST = 10


def main():
    rota, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        command = [sys.executable, "-B", HERE / "compare.py", "--quick", "--rota", rota]
        subprocess.run([*command, "--output", output, "--json", path], check=True, timeout=550)
        document = json.loads(path.read_text())
    cases = {case["name"]: case["summary"] for case in document["cases"]}
    peers = set(document["versions"])
    for peer in peers:
        own = {name for name, summary in cases.items() if peer in summary}
        assert len(own) >= CASES_LEAST, f"{peer} has {len(own)} cases"
        unknown = {name for name in own if "Rota" not in cases[name]}
        assert not unknown, f"{peer} has cases that rota-micro has not: {unknown}"
        assert all(cases[name][peer]["lowest"] > 0 for name in own), f"{peer} measures nothing"
    return 0 if peers else 77


if __name__ == "__main__":
    sys.exit(main())
