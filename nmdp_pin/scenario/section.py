"""A section of a scenario file: a strict record whose errors say what was given and allowed."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from nmdp_pin.errors import NmdpError

_WORDED = "worded"  # type of an error line that already is a sentence
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
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Vector3 = tuple[Number, Number, Number]


class Section(BaseModel):
    """Base of every table of a scenario file: frozen, no unknown keys, worded errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _word_errors(cls, value: Any, handler: ModelWrapValidatorHandler[Section]) -> Section:
        """Reword pydantic's errors while the record that they belong to is known."""
        try:
            return handler(value)
        except ValidationError as error:
            lines = [_reworded(cls, line) for line in error.errors(include_url=False)]
        raise ValidationError.from_exception_data(cls.__name__, lines)


class OptionsSection(Section):
    """A section that names a class; the keys that the class knows are its options."""

    target: ClassVar[type]

    def options(self) -> dict[str, Any]:
        """Keyword arguments for `target`."""
        known = _parameters(self.target)
        return {key: getattr(self, key) for key in type(self).model_fields if key in known}


def worded(sentence: str) -> PydanticCustomError:
    """Error line that is not rephrased."""
    return PydanticCustomError(_WORDED, "{sentence}", {"sentence": sentence})


def refuse(key: str, sentence: str, given: object = None) -> ValidationError:
    """Error at a key of the current section."""
    line = InitErrorDetails(type=worded(sentence), loc=(key,), input=given)
    return ValidationError.from_exception_data("section", [line])


def unknown(word: str, what: str, known: Iterable[str]) -> str:
    """Sentence for an unknown name, with the closest match and all known names."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    listed = f" Known: {', '.join(names)}" if names else ""
    return f"'{word}' is not {what}.{hint}{listed}"


def chosen(
    base: type[Section], tag: str, sections: Callable[[], Mapping[str, type[Section]]]
) -> Any:
    """Type of a field whose key `tag` names the record that reads the rest of the table.

    Args:
        base: what all these records have in common.
        tag: key that holds the name, such as "kind".
        sections: gives the records by name; called when a file is read, so that a class that is
            registered later is found.
    """

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, base):
            return value
        if not isinstance(value, Mapping):
            raise worded(f"must be a table, got {_shown(value)}")
        known = sections()
        default = base.model_fields[tag].default if tag in base.model_fields else None
        name = value.get(tag, default if isinstance(default, str) else None)
        if name is None:
            raise refuse(tag, f"is missing; one of: {', '.join(sorted(known))}")
        if not isinstance(name, str) or name not in known:
            raise refuse(tag, unknown(str(name), f"a known {tag}", known), name)
        return known[name].model_validate(value, context=info.context)

    return Annotated[Any, PlainValidator(validate)]


def options_section(
    base: type[OptionsSection],
    cls: type,
    *,
    skip: frozenset[str] = frozenset(),
    types: Mapping[str, Any] | None = None,
) -> type[OptionsSection]:
    """Record of `base` plus the keyword options of `cls`: names, types, defaults of its signature.

    Args:
        base: the keys that all classes of the family share.
        cls: the class to be made from the file, or a function that makes something.
        skip: arguments that the composition gives, not the file.
        types: types of options whose annotation says too little.
    """
    return _options_section(base, cls, skip, tuple((types or {}).items()))


@functools.cache  # making a record takes pydantic milliseconds, and each scenario needs them all
def _options_section(
    base: type[OptionsSection],
    cls: type,
    skip: frozenset[str],
    types: tuple[tuple[str, Any], ...],
) -> type[OptionsSection]:
    fields: dict[str, Any] = {}
    for name, (hint, default) in _parameters(cls).items():
        if name not in skip and name not in base.model_fields:
            fields[name] = (_strict(dict(types).get(name, hint)), Field(default))
    section = create_model(f"{base.__name__}[{cls.__name__}]", __base__=base, **fields)
    section.target = staticmethod(cls)  # type: ignore[assignment]  # a function stays unbound
    return section


def _parameters(cls: type) -> dict[str, tuple[Any, Any]]:
    """Annotation and default (... if it has none) of each argument of a class.

    A class that passes **options on says in `solver_options` which record takes them.
    """
    found = {}
    for source in filter(None, (cls, getattr(cls, "solver_options", None))):
        whole = dataclasses.is_dataclass(source) or not isinstance(source, type)  # a function
        hints = typing.get_type_hints(source if whole else source.__init__)
        for name, parameter in inspect.signature(source).parameters.items():
            if parameter.kind is not parameter.VAR_KEYWORD:
                default = ... if parameter.default is parameter.empty else parameter.default
                found[name] = (hints.get(name, Any), default)
    return found


def _sub_table(cls: type) -> Any:
    """Type of a sub-table that holds the options of a part."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise worded(f"must be a table, got {_shown(value)}")
        section = options_section(OptionsSection, cls).model_validate(value, context=info.context)
        try:
            return cls(**section.options())
        except NmdpError as error:
            raise worded(str(error)) from None

    return Annotated[
        Any, PlainValidator(validate), PlainSerializer(lambda part: dataclasses.asdict(part))
    ]


def _strict(hint: Any) -> Any:
    """The annotation with numbers and flags that take no text and no NaN."""
    plain = {float: Number, int: Count, bool: Flag}
    if hint in plain:
        return plain[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _sub_table(hint)
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        strict = functools.reduce(operator.or_, map(_strict, arguments))
        return strict if type(None) in arguments else _either(strict)
    if origin in (tuple, list, dict):
        return origin[tuple(_strict(argument) for argument in arguments)]
    return hint


def _either(union: Any) -> Any:
    """One of several types, whose mistakes are one sentence instead of one for each type."""
    adapter = TypeAdapter(union)

    def validate(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            reasons = dict.fromkeys(line["msg"] for line in error.errors())
            raise worded(f"{' or '.join(reasons)}, got {_shown(value)}") from None

    return Annotated[Any, PlainValidator(validate)]


def _reworded(cls: type[Section], line: Any) -> InitErrorDetails:
    """One error line as a sentence; lines of inner sections already are."""
    loc, kind, given = line["loc"], line["type"], line["input"]
    if kind == _WORDED:
        return InitErrorDetails(type=worded(line["ctx"]["sentence"]), loc=loc, input=given)
    field = cls.model_fields.get(str(loc[0])) if loc else None
    about = f" ({field.description})" if field is not None and field.description else ""
    context = line.get("ctx", {})
    if kind == "extra_forbidden":
        known = cls.model_fields if len(loc) == 1 else ()
        sentence = unknown(str(loc[-1]), "a key of this table", known)
    elif kind == "missing":
        sentence = f"is missing{about}"
    elif kind in _ORDER:
        bound = next(iter(context.values()))
        sentence = f"must be {_ORDER[kind]} {bound:g}, got {_shown(given)}{about}"
    elif kind == "literal_error":
        sentence = f"must be {context['expected']}, got {_shown(given)}{about}"
    elif kind in _KINDS:
        sentence = f"must be {_KINDS[kind]}, got {_shown(given)}{about}"
    else:
        sentence = f"{line['msg'].removeprefix('Value error, ')}, got {_shown(given)}{about}"
    return InitErrorDetails(type=worded(sentence), loc=loc, input=given)


def _shown(given: object) -> str:
    """Given value, shortened for a sentence."""
    text = f"the text {given!r}" if isinstance(given, str) else f"{given!r}"
    return text if len(text) <= 60 else text[:57] + "..."
