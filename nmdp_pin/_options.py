"""Options: types with ranges, and checks of what a class or function is given.

An option is stated once, as an annotated parameter. Python code and scenario files are checked
against it in the same words, and docs/reference lists it.
"""

import dataclasses
import difflib
import functools
import inspect
import os
import typing
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WrapValidator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from nmdp_pin._words import shortened
from nmdp_pin.errors import NmdpError

WORDED = "worded"
"""Type of pydantic's errors whose message is a sentence for the user."""

_ORDER = {
    "greater_than": ">",
    "greater_than_equal": ">=",
    "less_than": "<",
    "less_than_equal": "<=",
}
_KINDS = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "a table",
    "dataclass_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}
_LONGEST = 60  # [characters] of a value that is shown
_COMPOSED = {"self", "system", "robot", "controller", "q"}
"""Parameters that are no options: parts that are composed."""


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


_PLAIN = BeforeValidator(_plain)
Number = Annotated[float, _PLAIN, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, _PLAIN, Field(strict=True)]
Flag = Annotated[bool, _PLAIN, Field(strict=True)]
Positive = Annotated[Number, Field(gt=0)]
NonNegative = Annotated[Number, Field(ge=0)]
PositiveOrInfinite = Annotated[float, _PLAIN, Field(strict=True, gt=0)]
Vector3 = Annotated[tuple[Number, Number, Number], _PLAIN]
Numbers = Annotated[tuple[Number, ...], _PLAIN]
_STRICT: dict[Any, Any] = {float: Number, int: Count, bool: Flag}
P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


def _absolute(value: Any, info: ValidationInfo) -> str:
    if not isinstance(value, str | os.PathLike):
        raise worded(f"must be a text, got {shown(value)}")
    if info.context is None:
        return os.fspath(value)
    path = os.path.expanduser(value)
    beside = os.path.join(info.context["folder"], path)
    # unlike those of pathlib these stand any text, and links that lead to themselves
    return os.path.realpath(beside if os.path.exists(beside) else path)


FilePath = Annotated[str | os.PathLike[str], PlainValidator(_absolute)]
"""Path of a file; relative to the folder of the scenario file, else to the working directory."""


class Option(NamedTuple):
    """An option of a class or function.

    Args:
        hint: its type.
        default: its default; ... if it is required.
    """

    hint: Any
    default: Any


@functools.cache
def options_of(source: Callable[..., Any]) -> dict[str, Option]:
    """Options of a class or function, by name."""
    whole = dataclasses.is_dataclass(source) or not isinstance(source, type)
    hints = typing.get_type_hints(source if whole else source.__init__, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(source).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD and name not in _COMPOSED:
            hint = hints.get(name, Any)
            default = ... if parameter.default is parameter.empty else parameter.default
            found[name] = Option(_STRICT.get(hint, hint), default)
    return found


def check_options(
    source: Callable[..., Any], given: Mapping[str, Any], error: type[NmdpError]
) -> dict[str, Any]:
    """Check options against their types.

    Returns:
        The values, converted to their types.
    """
    checked = {}
    for name in _parts(source).keys() & given.keys():
        check_part(name, given[name], _parts(source)[name], error)
    for name, adapter in _adapters(source).items():
        if name in given:
            try:
                checked[name] = adapter.validate_python(given[name])
            except ValidationError as cause:
                line = cause.errors(include_url=False)[0]
                key = ".".join(map(str, (name, *line["loc"])))
                raise error(f"{key} {sentence(line)}") from None
    return checked


def check_fields(record: Any, error: type[NmdpError]) -> None:
    """Check and convert the fields of a frozen dataclass; see `check_options`."""
    for name, value in check_options(type(record), vars(record), error).items():
        object.__setattr__(record, name, value)


def _plain_signature(function: Callable[..., Any], skipped: int) -> inspect.Signature:
    """Signature of a function whose types have no ranges, without its first parameters."""
    hints, signature = typing.get_type_hints(function), inspect.signature(function)
    found = [p.replace(annotation=hints.get(n, Any)) for n, p in signature.parameters.items()]
    result = hints.get("return", Any)
    result = None if result is type(None) else result
    return signature.replace(parameters=found[skipped:], return_annotation=result)


class _OfInit:
    """Signature of a class, or of one that inherits from it, and of its `__init__`."""

    def __get__(self, instance: object, owner: Any) -> inspect.Signature:
        # `help` asks for this one first; dataclasses have no `__init__` when they are inherited
        owner.__init__.__signature__ = _plain_signature(owner.__init__, 0)
        return _plain_signature(owner.__init__, 1)


def readable(source: C) -> C:
    """Decorator: `help` and `inspect.signature` show types without their ranges."""
    is_type = isinstance(source, type)
    source.__signature__ = _OfInit() if is_type else _plain_signature(source, 0)  # type: ignore[attr-defined]
    return source


def checked(error: type[NmdpError]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator of a function whose options are checked; see `check_options`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @readable
        @functools.wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            given = signature.bind(*arguments, **options)
            given.arguments.update(check_options(function, given.arguments, error))
            return function(*given.args, **given.kwargs)

        return call

    return decorate


def check_part(name: str, value: object, kind: Any, error: type[NmdpError]) -> None:
    """Check the class of an argument; `kind` is a class, or several."""
    if not isinstance(value, kind):
        raise error(f"{name} must be of type {_words(kind)}, got {shown(value)}")


def _words(kind: Any) -> str:
    """Names of classes."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join("None" if each is NoneType else each.__name__ for each in kinds)


def check_parts(name: str, values: object, kind: Any, error: type[NmdpError]) -> tuple[Any, ...]:
    """The entries of an argument, of which each has a class."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise error(f"{name} must be a list of {_words(kind)}, got {shown(values)}")
    found = tuple(values)
    for k, value in enumerate(found):
        check_part(f"{name}[{k}]", value, kind, error)
    return found


def check_pair(name: str, made: Any, error: type[NmdpError]) -> tuple[Any, Any]:
    """What a function of time returns: a place, and the velocity there."""
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise error(f"{name} must return a place and a velocity, got {shown(made)}")
    return made[0], made[1]


def numbers(
    name: str, value: object, error: type[NmdpError], size: int | None = None
) -> np.ndarray:
    """Convert a value to an array of floats, of shape (size,) where a size is given."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be an array of numbers, got {shown(value)}") from cause
    if size is not None:
        check_shape(name, array, error, size)
    return array


def check_shape(name: str, array: np.ndarray, error: type[NmdpError], size: int) -> None:
    """Check that an array has the shape (size,)."""
    if array.shape != (size,):
        raise error(f"{name} has shape {array.shape}, expected ({size},)")


@functools.cache
def _parts(source: Callable[..., Any]) -> dict[str, type]:
    """Classes of the parts that a class or function composes, by parameter."""
    whole = dataclasses.is_dataclass(source) or not isinstance(source, type)
    hints = typing.get_type_hints(source if whole else source.__init__)
    return {
        name: typing.get_origin(hints[name]) or hints[name]
        for name in ("robot", "system")
        if name in hints
    }


@functools.cache
def _adapters(source: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    config: Any = {"arbitrary_types_allowed": True, "extra": "forbid"}
    return {
        name: TypeAdapter(option.hint, config=config)
        for name, option in options_of(source).items()
        if not dataclasses.is_dataclass(option.hint)
    }


def seconds(largest: float) -> PlainValidator:
    """Check of a time in (0, largest] s, which suspects milliseconds."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise worded(f"must be a number of seconds, got {shown(value)}")
        if not 0.0 < value <= largest:
            less = value / 1000.0
            hint = f"; did you mean {less:g} s?" if 0.0 < less <= largest else ""
            raise worded(f"must be > 0 and <= {largest:g} s, got {value:g}{hint}")
        return float(value)

    return PlainValidator(check)


def phrased(allowed: str) -> WrapValidator:
    """Words for a type that is one of several: mistakes are one sentence, not one for each."""

    def validate(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            deepest = max(error.errors(include_url=False), key=lambda line: len(line["loc"]))
        inside = len(deepest["loc"]) > 1  # the first part names the type
        text = sentence(deepest) if inside else f"must be {allowed}, got {shown(value)}"
        raise refusal(text, deepest["loc"][1:])

    return WrapValidator(validate)


def worded(sentence: str) -> PydanticCustomError:
    """Error of a validator whose message is a sentence."""
    return PydanticCustomError(WORDED, "{sentence}", {"sentence": sentence})


def refusal(text: str, place: tuple[int | str, ...] = (), given: object = None) -> ValidationError:
    """Error at a place within what is validated, whose message is a sentence."""
    line = InitErrorDetails(type=worded(text), loc=place, input=given)
    return ValidationError.from_exception_data("options", [line])


def sentence(line: Any) -> str:
    """One of pydantic's errors as a sentence: what is allowed, and what was given."""
    kind, given, context = line["type"], line["input"], line.get("ctx", {})
    if kind == WORDED:
        return str(context["sentence"])
    if kind == "missing":
        return "is missing"
    if kind == "unexpected_keyword_argument":
        return "is not an option"
    if kind in _ORDER:
        return f"must be {_ORDER[kind]} {next(iter(context.values())):g}, got {shown(given)}"
    if kind == "literal_error":
        return f"must be {context['expected']}, got {shortened(repr(given), _LONGEST)}"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, got {shown(given)}"
    return f"{line['msg']}, got {shown(given)}"


def unknown(word: str, what: str, known: Iterable[str]) -> str:
    """Sentence for an unknown name, with the closest match and all known names."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    listed = f" Known: {', '.join(names)}" if names else ""
    return f"'{word}' is not {what}.{hint}{listed}"


def shown(given: object) -> str:
    """Given value, shortened for a sentence."""
    try:
        text = f"the text {given!r}" if isinstance(given, str) else f"{given!r}"
    except RecursionError:
        return f"a {type(given).__name__} nested too deeply"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
