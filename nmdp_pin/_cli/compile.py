"""`nmdp-pin compile`: compile kernels before they are used."""

from nmdp_pin._cli.terminal import Quiet
from nmdp_pin._parallel.tasks import shown
from nmdp_pin._runs.compilation import all_parts, compile_parts


def compile(quiet: Quiet = False) -> None:
    """Compile all kernels before they are used, on all cores.

    Those that are kept already are read. What is missing is otherwise compiled when it is used.
    """
    parts = all_parts()
    with shown(not quiet, "parts of the kernels are compiled", len(parts)) as show:
        compile_parts(parts, show)
