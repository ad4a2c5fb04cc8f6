"""Contact laws of the kind that a method takes."""

from nmdp_pin._integrators import integrator_named


def law_for(method, law, **options):
    """That law if the method takes it, else the method's own one with some options."""
    kind = integrator_named(method).law_type
    return law if isinstance(law, kind) else kind(**options)
