"""The JIT: mode, buffer, and when it finds code hot."""

from phpdyno.knobs import proof, proof_opcache
from phpdyno.knobs.catalogue.opcache import MANUAL
from phpdyno.knobs.domain import JIT, SIZE, integer
from phpdyno.knobs.knob import Knob, Span

BUFFER = "ini.opcache.jit_buffer_size"
MODE = "ini.opcache.jit"
COUNTER = integer(0, 255)
CODE = "memory for more machine code"
FUNCTIONS = "35"
"""T of CRTO: hot functions, and traces, which start from the same counters."""
TRACES = "5"


def _hot(name: str, *tries: str, triggers: str, span: Span) -> Knob:
    return Knob(
        f"ini.{name}",
        COUNTER,
        "restart",
        proof_opcache.jit_counter(name, COUNTER, triggers),
        "the lower, the more code is compiled that is soon not needed any more; 0 switches this counter off",
        seen="the worker reports the value, and a JIT that heeds it has compiled code",
        least_php=(8, 0),
        needs={MODE: "tracing"},
        tries=tries,
        promise="little",
        span=span,
        price=CODE,
        reference=MANUAL,
    )


JIT_KNOBS = (
    Knob(
        MODE,
        JIT,
        "restart",
        proof.jit_mode,
        "JIT defects show as wrong answers or crashes; costs memory",
        seen="the JIT is on and has put machine code into its buffer since the app's first request",
        least_php=(8, 0),
        needs={BUFFER: "64M"},
        tries=("tracing", "function"),
        promise="much",
        price="its buffer, see opcache.jit_buffer_size",
        reference=MANUAL,
    ),
    Knob(
        BUFFER,
        SIZE,
        "restart",
        proof.jit_buffer,
        "a buffer that is full stops compiling; the rest of the code is interpreted",
        seen="the JIT runs with a buffer of that size",
        least_php=(8, 0),
        needs={MODE: "tracing"},
        tries=("128M", "32M"),
        promise="little",
        span=Span(16, 256, "M"),
        price=proof_opcache.jit_buffer_kib,
        reference=MANUAL,
    ),
    _hot("opcache.jit_hot_func", "32", "64", triggers=FUNCTIONS, span=Span(8, 255)),
    _hot("opcache.jit_hot_loop", "16", "32", triggers=FUNCTIONS, span=Span(8, 255)),
    _hot("opcache.jit_hot_return", "4", "2", triggers=TRACES, span=Span(1, 64)),
    _hot("opcache.jit_hot_side_exit", "4", "2", triggers=TRACES, span=Span(1, 64)),
)
