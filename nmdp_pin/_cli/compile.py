"""`nmdp-pin compile`: compile kernels before they are used."""

from nmdp_pin._cli.terminal import Quiet
from nmdp_pin._runs.compilation import all_parts, compile_parts


def compile(quiet: Quiet = False) -> None:
    """Compile all kernels before they are used, on all cores.

    Those that are kept already are read. What is missing is otherwise compiled when it is used.
    """
    compile_parts(all_parts(), whole=True, progress=not quiet)
