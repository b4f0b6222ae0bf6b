"""What march=native stands for, by what gcc says."""

from phpdyno.php_build.compile.native import machine_in

SAID = """The following options are target specific:
  -m64                        \t\t[enabled]
  -march=                     \t\tznver3
  -mavx512f                   \t\t[disabled]
"""


def test_a_machine_is_its_processor_and_all_that_is_switched_on_for_it() -> None:
    assert machine_in(SAID).startswith("znver3, ")
    # The same processor below another hypervisor.
    assert machine_in(SAID.replace("disabled", "enabled")) != machine_in(SAID)
    assert machine_in("").startswith("native, ")
