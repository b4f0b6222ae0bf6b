"""What comparing whole bodies costs the generator: CPU per request with and without, in alternating
slots of one run against nginx. `python -m tools.bench.bodies`."""

import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from phpdyno._native import BodyPattern, Engine, Target
from phpdyno.host.cores import on_cores, split_cores
from phpdyno.servers.launching import free_port
from phpdyno.servers.programs.finding import find_program
from phpdyno.stats.comparison.sequence import confidence_sequence

SLOTS, REQUESTS = 120, 400
SIZES = (1_000, 41_000, 400_000)
GAPS = 20
CONF = """worker_processes 1; pid {dir}/pid; error_log stderr; daemon off;
events {{}} http {{ access_log off; sendfile off; keepalive_requests 100000000;
server {{ listen 127.0.0.1:{port}; root {dir}; }} }}
"""


def patterns(body: bytes) -> dict[str, BodyPattern]:
    """The body whole, and with numbers in it that may be others."""
    cuts = [len(body) * (gap + 1) // (GAPS + 1) for gap in range(GAPS)]
    edges = [0, *(cut for at in cuts for cut in (at, at + 8)), len(body)]
    literals = [body[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2)]
    anything = bytes(range(256))
    return {"byte for byte": BodyPattern([body]), f"through {GAPS} gaps": BodyPattern(literals, [(1, 24, anything)] * GAPS)}


def cpu_ns(engine: Engine, sequence: np.ndarray) -> float:
    """CPU of this thread per request."""
    before = time.thread_time_ns()
    samples = engine.run(sequence)
    assert not samples.outcome.any()
    return (time.thread_time_ns() - before) / sequence.size


def main() -> None:
    """Print a line per size and kind of pattern."""
    generator = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        place, port = Path(name), free_port()
        place.chmod(0o755)
        bodies = {size: generator.integers(32, 127, size, dtype=np.uint8).tobytes() for size in SIZES}
        for size, body in bodies.items():
            (place / f"{size}.html").write_bytes(body)
        (place / "nginx.conf").write_text(CONF.format(dir=place, port=port))
        server = subprocess.Popen([find_program("nginx"), "-p", name, "-c", str(place / "nginx.conf"), "-e", "stderr"])
        try:
            time.sleep(0.5)
            with on_cores(split_cores().helpers):
                for size, body in bodies.items():
                    request = f"GET /{size}.html HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
                    plain = Engine(f"tcp:127.0.0.1:{port}", [Target.http(request, status=200)])
                    for kind, pattern in patterns(body).items():
                        compared = Engine(f"tcp:127.0.0.1:{port}", [Target.http(request, status=200, body=pattern)])
                        sequence = np.zeros(REQUESTS, np.uint32)
                        logs, base = [], []
                        for _ in range(SLOTS):
                            first, second = (plain, compared) if generator.random() < 0.5 else (compared, plain)
                            costs = {each: cpu_ns(each, sequence) for each in (first, second)}
                            logs.append(math.log(costs[compared] / costs[plain]))
                            base.append(costs[plain])
                        found = confidence_sequence(logs, 0.05)
                        low, high = (math.exp(end) for end in (found.low or 0.0, found.high or 0.0))
                        ratio, own = math.exp(found.mean), float(np.median(base)) / 1000
                        print(f"{size:>7} bytes, {kind}: {ratio:.3f}x ({low:.3f} to {high:.3f}) of {own:.1f} us")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
